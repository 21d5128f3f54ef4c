// Package config is what a user says of the host functions: tool servers, plug-ins, secrets, HTTP, a language model, policy.
//
// A Config is what a file says, and flags of commands change. A Spec is the same without anything that depends on where it is
// read: paths are absolute, and variables of the environment are in it. So it can be sent to another process, which makes the
// same host of it.
package config
