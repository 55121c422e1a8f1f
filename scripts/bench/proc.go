package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc, the same on all Linux machines.
const tick = 10 * time.Millisecond

// family is a process and all that it has started. Without /proc it is empty:
// processor time and memory are then not measured.
func family(pid int) []int {
	parents := map[int]int{}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if id, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			if fields := stat(id); len(fields) > 1 {
				parents[id], _ = strconv.Atoi(fields[1])
			}
		}
	}
	var found []int
	for id := range parents {
		for at := id; at > 1; at = parents[at] {
			if at == pid {
				found = append(found, id)
				break
			}
		}
	}
	return found
}

// stat are a process's fields behind its name.
func stat(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil // it has ended
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

// used is the processor time of a process so far.
func used(pid int) time.Duration {
	fields := stat(pid)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// peak is the most memory that a system's processes have had, in MB, each at its
// own time.
func peak(pid int) float64 {
	kilobytes := 0
	for _, id := range family(pid) {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(id) + "/status")
		_, rest, _ := strings.Cut(string(text), "VmHWM:")
		if fields := strings.Fields(rest); len(fields) > 0 {
			n, _ := strconv.Atoi(fields[0])
			kilobytes += n
		}
	}
	return float64(kilobytes) / 1024
}
