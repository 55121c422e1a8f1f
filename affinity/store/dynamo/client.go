package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// endpointVariable is the one that the AWS SDKs and tools read too.
const endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

// localRegion signs requests to a loopback endpoint where no region is set.
const localRegion = "us-east-1"

// NewClient makes a client of the Config's Region, Endpoint and HTTPClient.
//
// A loopback endpoint is somebody's emulator: it gets the access key of the
// environment or, where there is none, a dummy one, and no profile, container
// or instance is asked for credentials. Any other endpoint gets the SDK's usual
// credential chain, at the first request.
func NewClient(c Config) (*dynamodb.Client, error) {
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = os.Getenv(endpointVariable)
	}
	httpClient := c.HTTPClient
	if httpClient == nil {
		httpClient = NewHTTPClient()
	}
	adjust := func(o *dynamodb.Options) {
		o.HTTPClient = httpClient
		o.Retryer = aws.NopRetryer{}
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
	}
	if isLoopback(endpoint) {
		return dynamodb.New(dynamodb.Options{Region: regionOr(c.Region, localRegion), Credentials: localCredentials()}, adjust), nil
	}
	var load []func(*config.LoadOptions) error
	if c.Region != "" {
		load = append(load, config.WithRegion(c.Region))
	}
	loaded, err := config.LoadDefaultConfig(context.Background(), load...)
	if err != nil {
		return nil, fmt.Errorf("dynamo: AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return nil, errors.New("dynamo: no AWS region: set AWS_REGION")
	}
	return dynamodb.NewFromConfig(loaded, adjust), nil
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

func localCredentials() aws.CredentialsProvider {
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return credentials.NewStaticCredentialsProvider("local", "local", "")
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
