package wire

// Usage is tokens in the one form that the ledger keeps. Input excludes what
// was read from or written to a cache; Reasoning is part of Output.
type Usage struct {
	Input        int64
	CacheRead    int64
	CacheWrite5m int64 // short-lived cache entries
	CacheWrite1h int64 // long-lived cache entries
	Output       int64
	Reasoning    int64
	Estimated    bool // counted by us, not reported by the upstream
}
