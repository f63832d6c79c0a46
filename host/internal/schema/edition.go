package schema

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync"
)

//go:embed cache.go document.go edition.go engine.go limits.go message.go problems.go quick.go refer.go schema.go walk.go
var sources embed.FS

// Edition stands for the rules by which this build of the program compiles schemas. What
// Compile says of a text holds for as long as the edition is the same; another build
// that has another one may say something else. It is a digest of this package's own
// source, so that nobody has to remember to count it up, and of what the build is
// made of: the commit, the versions of Go and of the libraries.
var Edition = sync.OnceValue(func() string {
	sum := sha256.New()
	files, err := fs.ReadDir(sources, ".")
	for _, f := range files {
		var text []byte
		if text, err = sources.ReadFile(f.Name()); err != nil {
			break
		}
		fmt.Fprintf(sum, "%s %d\n%s", f.Name(), len(text), text)
	}
	if err != nil {
		panic(err) // they are a part of the program
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprint(sum, build)
	}
	return hex.EncodeToString(sum.Sum(nil))
})
