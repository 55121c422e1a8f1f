package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"holdfast/affinity/store"
)

// What Open and later calls may say about the file; errors.Is tells them apart.
var (
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("bolt: another process uses the store file")
	// ErrForeign: the file is none of this driver, or of a newer version of it.
	ErrForeign = errors.New("bolt: not a store file of this version")
	// ErrDamaged: the file is one of this driver, but cannot be read.
	ErrDamaged = errors.New("bolt: store file is damaged")
)

// Config says which file to open.
type Config struct {
	Path        string           // made with its folder where it is missing
	Now         func() time.Time // nil: time.Now
	LockTimeout time.Duration    // how long to wait for another process; 0: one second
}

// The file's own buckets; each table has one by its name.
const (
	metaBucket   = "meta"
	expiryBucket = "expiry"
	indexSuffix  = "-index"
)

// format stands in the meta bucket under formatKey.
const (
	formatKey = "format"
	format    = "holdfast-store-1"
)

// mapAtFirst is address space, not memory: a file that grows within it is not
// mapped anew, which would make a writer wait for every reader.
const mapAtFirst = 256 << 20

// Open opens or makes the store file. The store is usable until Close.
func Open(c Config) (*Store, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.LockTimeout <= 0 {
		c.LockTimeout = time.Second
	}
	if err := create(c.Path); err != nil {
		return nil, fmt.Errorf("bolt: making %s: %w", c.Path, err)
	}
	db, err := openFile(c.Path, c.LockTimeout)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, c.Path)
	}
	return &Store{now: c.Now, db: db, group: &group{db: db}}, nil
}

// openFile opens a file that is there and makes sure of what it is. Reading a
// truncated file faults, which is made a panic here, and an error.
func openFile(path string, wait time.Duration) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, ErrDamaged
		}
	}()
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: wait, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mapAtFirst, NoStatistics: true})
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, bbolterrors.ErrInvalid), errors.Is(err, bbolterrors.ErrVersionMismatch), errors.Is(err, bbolterrors.ErrChecksum):
		return nil, ErrForeign
	case err != nil:
		return nil, err
	}
	if err := recognize(db, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// recognize tells whether the file is whole and ours.
func recognize(db *bbolt.DB, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return db.View(func(tx *bbolt.Tx) error {
		// A file may be longer than what is used of it, never shorter.
		if tx.Size() > info.Size() {
			return ErrDamaged
		}
		meta := tx.Bucket([]byte(metaBucket))
		if meta == nil || string(meta.Get([]byte(formatKey))) != format {
			return ErrForeign
		}
		for _, name := range buckets() {
			if tx.Bucket([]byte(name)) == nil {
				return ErrDamaged
			}
		}
		return nil
	})
}

// buckets lists what every store file has beside its meta bucket.
func buckets() []string {
	names := []string{expiryBucket}
	for _, t := range store.Tables() {
		names = append(names, t.String())
		if t.Indexed() {
			names = append(names, t.String()+indexSuffix)
		}
	}
	return names
}

// create makes the file where there is none. It is built under another name and
// linked when it is whole, so that a process that is killed here leaves no half
// a file behind, and of two processes one makes it.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(folder, filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	if err := errors.Join(draft.Close(), build(draft.Name())); err != nil {
		return err
	}
	if err := os.Link(draft.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(folder)
}

// build writes an empty store file.
func build(path string) error {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket([]byte(metaBucket))
		if err != nil {
			return err
		}
		if err := meta.Put([]byte(formatKey), []byte(format)); err != nil {
			return err
		}
		for _, name := range buckets() {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	}), db.Close())
}

// syncFolder makes the new name durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
