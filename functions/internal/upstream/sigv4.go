package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// The services that a Bedrock address may belong to, as signatures name them.
const (
	bedrock       = "bedrock"        // bedrock-runtime.REGION.amazonaws.com
	bedrockMantle = "bedrock-mantle" // bedrock-mantle.REGION.api.aws
)

// renewAfter is how often credentials that are refused are asked for anew at
// most: a role without a permission is refused again and again.
const renewAfter = 10 * time.Second

// errUnsigned is a process that nobody has told of AWS.
var errUnsigned = errors.New("upstream: no AWS credentials or no region to sign with")

// SignerConfig says who signs.
type SignerConfig struct {
	// Find returns the region of this process, "" where it has none, and where
	// its credentials come from. It is called at the first use, again until it
	// succeeds.
	Find func(context.Context) (region string, found aws.CredentialsProvider, err error)
	Now  func() time.Time
}

// Signer signs requests to AWS by signature version 4. Credentials are fetched
// with the first request, kept until they expire, and fetched again when they
// are refused. It is safe for use by many goroutines.
type Signer struct {
	SignerConfig
	signer *v4.Signer

	mu      sync.Mutex
	region  string
	cache   *aws.CredentialsCache // nil: not found yet
	emptied time.Time             // when refused credentials were last dropped
}

// NewSigner returns a Signer. It asks nobody yet.
func NewSigner(c SignerConfig) *Signer {
	return &Signer{SignerConfig: c, signer: v4.NewSigner()}
}

// found returns region and credentials.
func (s *Signer) found(ctx context.Context) (string, *aws.CredentialsCache, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache != nil {
		return s.region, s.cache, nil
	}
	region, provider, err := s.Find(ctx)
	if err != nil {
		return "", nil, err
	}
	if provider == nil {
		return "", nil, errUnsigned
	}
	s.region = region
	if kept, is := provider.(*aws.CredentialsCache); is {
		s.cache = kept // a cache round it would hide what is renewed
	} else {
		s.cache = aws.NewCredentialsCache(provider)
	}
	return s.region, s.cache, nil
}

// sign adds the signature of a request over its headers and the body that it
// will send, and returns the access key that it was made with.
func (s *Signer) sign(ctx context.Context, r *http.Request, body []byte) (key string, err error) {
	own, cache, err := s.found(ctx)
	if err != nil {
		return "", err
	}
	service, region := placeOf(r.URL.Hostname())
	if region == "" {
		region = own
	}
	if region == "" {
		return "", errUnsigned
	}
	with, err := cache.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	r.Header = r.Header.Clone()
	sum := sha256.Sum256(body)
	return with.AccessKeyID, s.signer.SignHTTP(ctx, with, r, hex.EncodeToString(sum[:]), service, region, s.Now())
}

// renewed fetches credentials again after those of an access key were refused,
// and reports whether there are others now.
func (s *Signer) renewed(ctx context.Context, refused string) bool {
	s.mu.Lock()
	cache, stale := s.cache, s.Now().Sub(s.emptied) >= renewAfter
	if stale {
		s.emptied = s.Now()
	}
	s.mu.Unlock()
	if stale {
		cache.Invalidate()
	}
	with, err := cache.Retrieve(ctx)
	return err == nil && with.AccessKeyID != refused
}

// placeOf reads service and region out of a host such as
// bedrock-runtime.eu-west-1.amazonaws.com, those of a private endpoint and of
// FIPS included. Other hosts are an emulator's or a proxy's: they get the
// process's own region.
func placeOf(host string) (service, region string) {
	labels := strings.Split(host, ".")
	for i, label := range labels[:max(0, len(labels)-2)] {
		switch strings.TrimSuffix(label, "-fips") {
		case "bedrock-runtime", "bedrock":
			return bedrock, labels[i+1]
		case bedrockMantle:
			return bedrockMantle, labels[i+1]
		}
	}
	return bedrock, ""
}
