package app

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"holdfast/infra/table"
)

// Environment is what the process reads from its variables. Session detection
// and provider keys are read by the catalog, since they amount to a document.
type Environment struct {
	Config      string     // HOLDFAST_CONFIG
	AdminKey    string     // HOLDFAST_ADMIN_KEY
	Store       string     // HOLDFAST_STORE
	TablePrefix string     // HOLDFAST_TABLE_PREFIX; by default holdfast-
	LogLevel    slog.Level // HOLDFAST_LOG_LEVEL; by default info
	Secret      string     // HOLDFAST_SECRET
	Origin      string     // HOLDFAST_ORIGIN_SECRET: what CloudFront adds to every request; "": requests come from anywhere
	CORSOrigins []string   // HOLDFAST_CORS_ORIGINS, comma-separated; by default *
	GatewayURL  string     // HOLDFAST_GATEWAY_URL: where the console's playground sends requests; "": to its own origin
	Region      string     // AWS_REGION
	DynamoDB    string     // AWS_ENDPOINT_URL_DYNAMODB
	Collector   string     // OTEL_EXPORTER_OTLP_ENDPOINT
	// CollectorHeaders are NAME=VALUE pairs with commas between; they may hold a secret.
	CollectorHeaders string // OTEL_EXPORTER_OTLP_HEADERS
	Demo             string // HOLDFAST_DEMO_ACCOUNTS: NAME=URL, comma-separated: simulated accounts that run elsewhere
}

// resolved returns the environment with secrets in place of the references that
// stand for them.
func (e Environment) resolved(references secrets) (Environment, error) {
	for name, secret := range map[string]*string{
		"HOLDFAST_SECRET": &e.Secret, "HOLDFAST_ADMIN_KEY": &e.AdminKey, "HOLDFAST_ORIGIN_SECRET": &e.Origin,
	} {
		value, err := references.Resolve(*secret)
		if err != nil {
			return e, fmt.Errorf("%s: %w", name, err)
		}
		*secret = value
	}
	return e, nil
}

// ReadEnvironment parses variables of the form NAME=value; an empty one is like
// one that is not set. Its error names the variable and never shows the value.
// It is written out, since reflection would be a twentieth of a function's start.
func ReadEnvironment(environ []string) (Environment, error) {
	value := lookup(environ)
	read := func(name, otherwise string) string {
		if set, _ := value(name); set != "" {
			return set
		}
		return otherwise
	}
	e := Environment{
		Config:           read("HOLDFAST_CONFIG", ""),
		AdminKey:         read("HOLDFAST_ADMIN_KEY", ""),
		Store:            read("HOLDFAST_STORE", ""),
		TablePrefix:      read("HOLDFAST_TABLE_PREFIX", table.DefaultPrefix),
		Secret:           read("HOLDFAST_SECRET", ""),
		Origin:           read("HOLDFAST_ORIGIN_SECRET", ""),
		CORSOrigins:      origins(read("HOLDFAST_CORS_ORIGINS", "*")),
		GatewayURL:       read("HOLDFAST_GATEWAY_URL", ""),
		Region:           read("AWS_REGION", ""),
		DynamoDB:         read("AWS_ENDPOINT_URL_DYNAMODB", ""),
		Collector:        read("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
		CollectorHeaders: read("OTEL_EXPORTER_OTLP_HEADERS", ""),
		Demo:             read("HOLDFAST_DEMO_ACCOUNTS", ""),
	}
	if err := e.LogLevel.UnmarshalText([]byte(read("HOLDFAST_LOG_LEVEL", "info"))); err != nil {
		return e, errors.New("environment: HOLDFAST_LOG_LEVEL takes debug, info, warn or error")
	}
	return e, nil
}

// origins are those of a list, as browsers send them: without a slash at the end.
func origins(list string) []string {
	var all []string
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSuffix(strings.TrimSpace(one), "/"); one != "" {
			all = append(all, one)
		}
	}
	return all
}
