//go:build !unix

package bench

import "io/fs"

func allocated(fi fs.FileInfo) int64 { return fi.Size() }
