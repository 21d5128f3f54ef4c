package vfs

import (
	"io/fs"
	"path"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// resolve finds where a path leads after symbolic links that cross mounts, or
// that a mount cannot follow itself. The last component is followed when follow
// is set. A missing or unreadable component ends the resolution: the call that
// is made on the result then reports it.
func (t *Tree) resolve(name string, follow bool) (place, []mount, sys.Errno) {
	mounts := *t.mounts.Load()
	if errno := checkPath(name); errno != 0 {
		return place{}, mounts, errno
	}
	p := cleanName(name)
	if p == "." {
		p = ""
	}
	at := lookup(mounts, p)
	if at.rel == "." || !at.needsWalk(follow) {
		return at, mounts, 0
	}
	p, errno := walkLinks(mounts, p, follow)
	if errno != 0 {
		return place{}, mounts, errno
	}
	return lookup(mounts, p), mounts, 0
}

// needsWalk reports whether there may be a link on the path that the mount does
// not follow as the tree would. A link in a mount with others below it may lead
// into one of those.
func (p place) needsWalk(follow bool) bool {
	prober, ok := p.mount.fs.(linkProber)
	if !ok {
		return true
	}
	if _, memory := prober.(*FS); !memory && p.mount.nested {
		_, view := prober.(*viewFS)
		return !view
	}
	return prober.hasLinks(p.rel, follow)
}

// maxWork bounds the bytes of all paths that one resolution looks at. The longest path without links takes 4 MiB; forty
// links to such paths would take a second, for which nothing could interrupt the guest.
const maxWork = 8 << 20

// walkLinks follows symbolic links one component at a time.
func walkLinks(mounts []mount, rest string, follow bool) (string, sys.Errno) {
	at, hops, work := "", 0, 0
	for rest != "" {
		comp := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			comp, rest = rest[:i], strings.TrimLeft(rest[i:], "/")
		} else {
			rest = ""
		}
		switch comp {
		case "", ".":
			continue
		case "..":
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		dir := at
		if at != "" {
			at += "/" + comp
		} else {
			at = comp
		}
		if rest == "" && !follow {
			break
		}
		here := lookup(mounts, at)
		if here.pinned(mounts) {
			continue
		}
		if work += len(at); work > maxWork {
			return "", sys.ELOOP
		}
		st, errno := here.mount.fs.Lstat(here.rel)
		if errno != 0 {
			// Nothing to follow from here on.
			at, rest = strings.TrimPrefix(path.Join("/", at, rest), "/"), ""
			continue
		}
		if st.Mode&fs.ModeSymlink == 0 {
			continue
		}
		if hops++; hops > MaxSymlinks {
			return "", sys.ELOOP
		}
		target, errno := here.mount.fs.Readlink(here.rel)
		if errno != 0 {
			return "", errno
		}
		if len(target)+len(rest) > 2*MaxPath {
			return "", sys.ENAMETOOLONG
		}
		at = dir
		if strings.HasPrefix(target, "/") {
			at = ""
		}
		if rest != "" {
			target += "/" + rest
		}
		rest = strings.TrimLeft(target, "/")
	}
	return at, 0
}
