// Command bundle makes the archives that are deployed: dist/gateway.zip and,
// where ./functions/console is there, dist/console.zip. Each holds one file,
// bootstrap, for provided.al2023 on arm64.
//
// The same source gives the same bytes, wherever and whenever it is built: no
// path, time, user or revision gets into an archive. CDK then sees that nothing
// has changed, and does not deploy it again.
//
// It prints each archive with its sizes and its SHA-256, and exits 1 where one
// cannot be made or is larger than it may be.
package main

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// maxBootstrap is how large a stripped bootstrap may be, in bytes.
const maxBootstrap = 25 << 20

// epoch is the time of every archived file: the first that zip can say.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// errTooLarge says that a bootstrap would start too slowly.
var errTooLarge = errors.New("the bootstrap is larger than it may be")

func main() {
	dist := flag.String("o", "dist", "`FOLDER` of the archives")
	arch := flag.String("arch", "arm64", "GOARCH of the function")
	flag.Parse()
	for _, name := range []string{"gateway", "console"} {
		main := "./functions/" + name
		if _, err := os.Stat(main); errors.Is(err, os.ErrNotExist) && name == "console" {
			continue
		}
		if err := bundle(os.Stdout, main, *arch, filepath.Join(*dist, name+".zip")); err != nil {
			fmt.Fprintln(os.Stderr, "bundle:", name+":", err)
			os.Exit(1)
		}
	}
}

// bundle builds a main package and writes its archive, whole or not at all.
func bundle(out io.Writer, main, arch, archive string) error {
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(archive), ".bundle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	bootstrap := filepath.Join(work, "bootstrap")
	if err := build(main, arch, bootstrap); err != nil {
		return err
	}
	packed := filepath.Join(work, "archive.zip")
	size, err := pack(bootstrap, packed)
	if err != nil {
		return err
	}
	if size > maxBootstrap {
		return fmt.Errorf("%w: %d bytes, %d allowed", errTooLarge, size, maxBootstrap)
	}
	sum, zipped, err := digest(packed)
	if err != nil {
		return err
	}
	if err := os.Rename(packed, archive); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %.1f MiB, bootstrap %.1f MiB, sha256 %s\n", archive, mebibytes(zipped), mebibytes(size), sum)
	return nil
}

// build compiles a main package so that nothing but its source decides the
// result.
func build(main, arch, file string) error {
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", file, main)
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=", "GOARM64=")
	command.Stderr = os.Stderr
	return command.Run()
}

// pack writes an archive of one executable and returns the file's size.
func pack(file, archive string) (size int64, err error) {
	from, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	to, err := os.Create(archive)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	z := zip.NewWriter(to)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: epoch}
	header.SetMode(0o755)
	entry, err := z.CreateHeader(header)
	if err != nil {
		return 0, err
	}
	if size, err = io.Copy(entry, from); err != nil {
		return 0, err
	}
	return size, z.Close()
}

// digest returns a file's SHA-256 in hex, and its size.
func digest(name string) (sum string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
