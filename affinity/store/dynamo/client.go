package dynamo

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// endpointVariable is the one that the AWS SDKs and tools read too.
const endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

// localRegion signs requests to a loopback endpoint where no region is set.
const localRegion = "us-east-1"

// NewClient makes a client of the Config's Region, Endpoint, Credentials and
// HTTPClient.
//
// A loopback endpoint is somebody's emulator: it gets the access key of the
// environment or, where there is none, a dummy one. Any other endpoint gets the
// Config's credentials or, where there are none, the access key of the
// environment, which is where Lambda puts it. Package chain finds those of
// profiles, containers and instances.
func NewClient(c Config) (*dynamodb.Client, error) {
	endpoint := c.endpoint()
	httpClient := c.HTTPClient
	if httpClient == nil {
		httpClient = NewHTTPClient()
	}
	o := dynamodb.Options{
		Region: regionOr(c.Region, ""), Credentials: c.Credentials,
		HTTPClient: httpClient, Retryer: aws.NopRetryer{},
	}
	if endpoint != "" {
		o.BaseEndpoint = aws.String(endpoint)
	}
	switch {
	case c.Local():
		o.Region, o.Credentials = orElse(o.Region, localRegion), environmentOr("local")
	case o.Region == "":
		return nil, errors.New("dynamo: no AWS region: set AWS_REGION")
	case o.Credentials == nil:
		o.Credentials = environmentOr("")
	}
	return dynamodb.New(o), nil
}

// Local reports whether the Config's endpoint is on this machine.
func (c Config) Local() bool { return isLoopback(c.endpoint()) }

func (c Config) endpoint() string { return orElse(c.Endpoint, os.Getenv(endpointVariable)) }

func orElse(value, other string) string {
	if value != "" {
		return value
	}
	return other
}

// NewHTTPClient returns a client for DynamoDB: connections are kept, dialling
// and waiting for an answer are bounded, redirects are answers.
//
// Dialling may take longer than one attempt: it goes on when the attempt that
// wanted the connection has ended, and the next attempt finds it ready. A cold
// process needs that for its first TLS handshake.
func NewHTTPClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: DefaultTimeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   DefaultTimeout,
			ResponseHeaderTimeout: 10 * time.Second, // attempts end sooner by their own deadline
			IdleConnTimeout:       50 * time.Second, // DynamoDB hangs up after about a minute
			MaxIdleConns:          128,
			MaxIdleConnsPerHost:   128, // one host: the default of 2 would dial anew under load
			DisableCompression:    true,
		},
	}
}

// hangUpOf returns what closes the client's idle connections. After a lost
// answer the other connections are as old as the dead one (a frozen and thawed
// process finds them all dead), so the next attempt must not take one of them.
func hangUpOf(client *dynamodb.Client) func() {
	if c, ok := client.Options().HTTPClient.(interface{ CloseIdleConnections() }); ok {
		return c.CloseIdleConnections
	}
	return func() {}
}

// environmentOr returns the access key of the environment, or another one for
// both its parts. With an empty one nothing can be signed.
func environmentOr(other string) aws.CredentialsProvider {
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return credentials.NewStaticCredentialsProvider(other, other, "")
	}
	return credentials.NewStaticCredentialsProvider(id, secret, os.Getenv("AWS_SESSION_TOKEN"))
}

func regionOr(region, otherwise string) string {
	for _, r := range []string{region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")} {
		if r != "" {
			return r
		}
	}
	return otherwise
}

func isLoopback(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}
