package dynalite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// install runs `npm ci` in the folder unless the packages of the present lock
// file are there. Test binaries run side by side, so it happens under a lock
// on the lock file itself, which every process can take and no crash can leave
// behind.
func install(ctx context.Context, home string) error {
	lock, err := os.Open(filepath.Join(home, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("dynalite: %w", err)
	}
	defer lock.Close() // releases the lock too
	if err := flock(lock); err != nil {
		return fmt.Errorf("dynalite: lock: %w", err)
	}
	if installed(home) {
		return nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("dynalite: npm is not installed, it is needed to install dynalite: %w", err)
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = home
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("dynalite: npm ci: %w: %s", err, out)
	}
	return nil
}

// flock waits for the exclusive lock; a signal may interrupt the call.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// installed compares with the copy of the lock file that npm leaves, as its
// last step, among the packages: older means that the lock file has changed.
func installed(home string) bool {
	want, err := os.Stat(filepath.Join(home, "package-lock.json"))
	if err != nil {
		return false
	}
	have, err := os.Stat(filepath.Join(home, "node_modules", ".package-lock.json"))
	return err == nil && !have.ModTime().Before(want.ModTime())
}
