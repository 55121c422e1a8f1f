// Package accounts simulates provider accounts: HTTP servers that answer as
// OpenAI's and Anthropic's APIs do, each with its own prompt cache, its own
// stored responses and ciphertext, a journal of what it was asked, and faults
// on demand. README.md in this folder is its manual.
//
// An Account is an http.Handler; Start puts some behind real loopback sockets.
// Every path works with and without /v1: chat/completions, responses (and
// /{id}, /{id}/cancel, /{id}/input_items, /compact), conversations, messages,
// messages/count_tokens, embeddings, models, videos. What decides an answer is
// written in package answer, what is cached in package prompt.
//
// # Control
//
// Each account is steered over HTTP, outside of /v1 and of the journal:
//
//	POST   /control/faults       arm a fault (see Fault): {"kind":"rate_limit","times":1}
//	GET    /control/faults       what is armed, and how often it has struck
//	DELETE /control/faults       disarm all; /control/faults/{id} one
//	GET    /control/calls        the journal; ?after=SEQ and ?limit=N page through it
//	DELETE /control/calls        empty it
//	GET    /control/cache        counters of the prompt cache
//	DELETE /control/cache        empty it
//	GET    /control/healthz      {"ok":true,"account":"alpha"}
//
// Bodies are strict JSON; a mistake is a 400 that says where it is.
//
// # Invariants
//
// The same request gets the same answer from every account, ids apart. Nothing
// crosses from one account to another: cache, ids, ciphertext, signatures.
// Everything is bounded: bodies, the journal, the cache, stored objects, answers.
// Credentials are never kept: the journal has a short hash in their place.
//
// Concurrency: everything exported is safe for use by many goroutines. A call
// that waits (a delay, a hang) ends with its client or with Close.
package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/prompt"
	"holdfast/localstack/accounts/internal/responses"
	"holdfast/localstack/accounts/internal/seal"
)

// DefaultCacheTTL is how long a cached prefix lives after each use.
const DefaultCacheTTL = 5 * time.Minute

// Config says what one account is like. Its zero value works.
type Config struct {
	Name    string // tells accounts apart; what they seal depends on it
	Address string // where Start listens; default 127.0.0.1:0

	Key    string   // the credential that requests must carry; empty: none is asked for
	Keys   []string // more credentials of the same account
	Models []string // what is served; empty: every name is, and three are listed
	Signed *Signed  // requests carry AWS signatures instead; nil: they do not

	Now  func() time.Time                           // default time.Now
	Wait func(context.Context, time.Duration) error // how a delay passes; default a timer

	CacheTTL    time.Duration // default DefaultCacheTTL
	CacheTokens int           // bound of the prompt cache, default 16 Mi

	FirstByte time.Duration // before each answer
	Token     time.Duration // before each output event of a stream

	Answer       string // a fixed text for every prose answer
	AnswerTokens int    // length of prose in tokens, default 32

	Journal    int  // calls kept, default 1000; negative: none
	AnySeal    bool // signatures and ciphertext of any origin are taken, to replay recorded conversations
	TurnState  bool // responses carry x-codex-turn-state, and an echoed one is kept
	VideoPolls int  // how often a video is asked for until it is done, default 1
}

// Account is one simulated provider account.
type Account struct {
	config  Config
	handler http.Handler
	style   answer.Style
	box     *seal.Box
	cache   *prompt.Cache
	memory  *responses.Memory
	videos  *videos
	journal *journal
	faults  faultSet

	salt   string // makes ids of this run unlike those of any other
	tag    string // stands for the name where clients can see it
	minted atomic.Uint64

	life context.Context // until Close
	end  context.CancelFunc
}

// New makes an account.
func New(c Config) *Account {
	if c.Name == "" {
		c.Name = "account"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Wait == nil {
		c.Wait = pass
	}
	if c.CacheTTL <= 0 {
		c.CacheTTL = DefaultCacheTTL
	}
	if c.Key != "" {
		c.Keys = append([]string{c.Key}, c.Keys...)
	}
	name := sha256.Sum256([]byte(c.Name))
	var salt [6]byte
	rand.Read(salt[:]) // never fails
	a := &Account{
		config:  c,
		style:   answer.Style{Fixed: c.Answer, Tokens: c.AnswerTokens},
		box:     seal.New(c.Name, c.AnySeal),
		cache:   prompt.NewCache(c.CacheTTL, c.CacheTokens),
		videos:  newVideos(c.VideoPolls),
		journal: newJournal(c.Journal),
		salt:    hex.EncodeToString(salt[:]),
		tag:     hex.EncodeToString(name[:5]),
	}
	a.memory = responses.NewMemory(a.box)
	a.life, a.end = context.WithCancel(context.Background())
	a.handler = a.routes()
	return a
}

// Name is the account's name.
func (a *Account) Name() string { return a.config.Name }

// ServeHTTP answers one call.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Close ends every call that waits. The account goes on answering others.
func (a *Account) Close() { a.end() }

// CacheStats counts what the prompt cache has seen.
func (a *Account) CacheStats() CacheStats { return a.cache.Stats() }

// ClearCache empties the prompt cache and its counters.
func (a *Account) ClearCache() { a.cache.Clear() }

// CacheStats are the counters of a prompt cache.
type CacheStats = prompt.Stats

// mint makes an id that this account has never made before, in any run.
func (a *Account) mint(prefix string) string {
	b := make([]byte, 0, 48)
	b = append(append(b, prefix...), a.salt...)
	n := strconv.AppendUint(nil, a.minted.Add(1), 16)
	b = append(b, "000000000000"[min(len(n), 12):]...)
	return string(append(b, n...))
}

// serves tells whether the account has a model.
func (a *Account) serves(model string) bool {
	return len(a.config.Models) == 0 || slices.Contains(a.config.Models, model)
}

// wait lets a delay pass unless the call or the account ends first.
func (a *Account) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.life, cancel)()
	return a.config.Wait(ctx, d)
}

// pass waits on a timer.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
