package vault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"holdfast/routing/catalog"
)

// maxAnswer bounds an answer: a secret has at most 64 KiB.
const maxAnswer = 256 << 10

// caller makes signed calls.
type caller struct {
	Config
	mu     sync.Mutex // guards what follows, found with the first call that works
	region string
	signer aws.CredentialsProvider // nil: not found yet
}

// place is one of the two services, as its wire protocol names things.
type place struct {
	service, target string // of the host name and the signature; of the call
	endpoint        string // the variable that moves it
	request         any
	value           func(answer) string
}

// answer is what either service returns; unused members stay empty.
type answer struct {
	Parameter    struct{ Value string }
	SecretString string
	Type         string `json:"__type"`
}

func placeOf(ref catalog.Reference) place {
	if ref.Scheme == catalog.SchemeSSM {
		return place{
			service: "ssm", target: "AmazonSSM.GetParameter", endpoint: "AWS_ENDPOINT_URL_SSM",
			request: map[string]any{"Name": ref.Name, "WithDecryption": true},
			value:   func(a answer) string { return a.Parameter.Value },
		}
	}
	return place{
		service: "secretsmanager", target: "secretsmanager.GetSecretValue", endpoint: "AWS_ENDPOINT_URL_SECRETS_MANAGER",
		request: map[string]any{"SecretId": ref.Name},
		value:   func(a answer) string { return a.SecretString },
	}
}

// read makes one call.
func (c *caller) read(ctx context.Context, ref catalog.Reference) (string, error) {
	region, signer, err := c.prepared(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	p := placeOf(ref)
	request, err := c.signed(ctx, p, regionOf(ref, region), signer)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	response, err := c.Client.Do(request)
	if err != nil {
		return "", fmt.Errorf("%w: no answer", ErrUnavailable) // the error's text repeats the request
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	var said answer
	if err != nil || json.Unmarshal(text, &said) != nil {
		return "", fmt.Errorf("%w: status %d", ErrUnavailable, response.StatusCode)
	}
	if response.StatusCode != http.StatusOK {
		return "", refusal(response.StatusCode, said.Type)
	}
	if p.value(said) == "" {
		return "", ErrNotFound // a secret of bytes, or an empty one
	}
	return p.value(said), nil
}

// refusal tells apart what both services answer: the name of an exception, with
// or without its namespace.
func refusal(status int, kind string) error {
	switch kind = kind[strings.LastIndexByte(kind, '#')+1:]; {
	case status >= http.StatusInternalServerError, kind == "ThrottlingException":
		return fmt.Errorf("%w: status %d", ErrUnavailable, status)
	case strings.HasSuffix(kind, "NotFound"), kind == "ResourceNotFoundException":
		return ErrNotFound
	}
	return fmt.Errorf("%w: status %d", ErrForbidden, status)
}

// prepared finds region and credentials: Lambda's lie in the environment.
func (c *caller) prepared(ctx context.Context) (string, aws.CredentialsProvider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.signer != nil {
		return c.region, c.signer, nil
	}
	region := c.first("AWS_REGION", "AWS_DEFAULT_REGION")
	id, secret := c.first("AWS_ACCESS_KEY_ID"), c.first("AWS_SECRET_ACCESS_KEY")
	var found aws.CredentialsProvider
	switch {
	case id != "" && secret != "":
		found = credentials.NewStaticCredentialsProvider(id, secret, c.first("AWS_SESSION_TOKEN"))
	case c.Credentials != nil:
		named, provider, err := c.Credentials(ctx)
		if err != nil {
			return "", nil, err
		}
		found = provider
		if named != "" {
			region = named
		}
	}
	if region == "" || found == nil {
		return "", nil, errNoAWS
	}
	c.region, c.signer = region, found
	return region, found, nil
}

// errNoAWS is a process that nobody has told of AWS.
var errNoAWS = errors.New("no AWS region and credentials are set")

// first returns the first variable that is set.
func (c *caller) first(names ...string) string {
	for _, name := range names {
		if value, set := c.Lookup(name); set && value != "" {
			return value
		}
	}
	return ""
}

func (c *caller) signed(ctx context.Context, p place, region string, signer aws.CredentialsProvider) (*http.Request, error) {
	body, err := json.Marshal(p.request)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address(p, region), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", p.target)
	key, err := signer.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return request, v4.NewSigner().SignHTTP(ctx, key, request, hex.EncodeToString(sum[:]), p.service, region, c.Now())
}

// address is the service's, or the one that the environment names for an
// emulator.
func (c *caller) address(p place, region string) string {
	if moved := c.first(p.endpoint, "AWS_ENDPOINT_URL"); moved != "" {
		return strings.TrimSuffix(moved, "/") + "/"
	}
	suffix := ".amazonaws.com/"
	if strings.HasPrefix(region, "cn-") {
		suffix = ".amazonaws.com.cn/"
	}
	return "https://" + p.service + "." + region + suffix
}

// regionOf is the region in a secret's ARN, or the process's own.
func regionOf(ref catalog.Reference, own string) string {
	if parts := strings.SplitN(ref.Name, ":", 5); len(parts) == 5 && parts[0] == "arn" && parts[3] != "" {
		return parts[3]
	}
	return own
}
