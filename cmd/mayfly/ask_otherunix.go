//go:build unix && !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package main

func dropInput(int) {}
