package app

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Environment is what the process reads from its variables. Session detection
// and provider keys are read by the catalog, since they amount to a document.
type Environment struct {
	Config      string     `env:"HOLDFAST_CONFIG"`
	AdminKey    string     `env:"HOLDFAST_ADMIN_KEY"`
	Store       string     `env:"HOLDFAST_STORE"`
	TablePrefix string     `env:"HOLDFAST_TABLE_PREFIX" envDefault:"holdfast-"`
	LogLevel    slog.Level `env:"HOLDFAST_LOG_LEVEL" envDefault:"INFO"`
	Secret      string     `env:"HOLDFAST_SECRET"`
	Origin      string     `env:"HOLDFAST_ORIGIN_SECRET"` // what CloudFront adds to every request; "": requests come from anywhere
	CORSOrigins []string   `env:"HOLDFAST_CORS_ORIGINS" envDefault:"*"`
	GatewayURL  string     `env:"HOLDFAST_GATEWAY_URL"` // where the console's playground sends requests; "": to its own origin
	Region      string     `env:"AWS_REGION"`
	DynamoDB    string     `env:"AWS_ENDPOINT_URL_DYNAMODB"`
	Collector   string     `env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	// CollectorHeaders are NAME=VALUE pairs with commas between; they may hold a secret.
	CollectorHeaders string `env:"OTEL_EXPORTER_OTLP_HEADERS"`
	Demo             string `env:"HOLDFAST_DEMO_ACCOUNTS"` // NAME=URL, comma-separated: simulated accounts that run elsewhere
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

// ReadEnvironment parses variables of the form NAME=value. Its error names the
// variable and never shows the value.
func ReadEnvironment(environ []string) (Environment, error) {
	var e Environment
	known := make(map[string]string, len(environ))
	for _, variable := range environ {
		if name, value, ok := strings.Cut(variable, "="); ok && value != "" {
			known[name] = value
		}
	}
	if err := env.ParseWithOptions(&e, env.Options{Environment: known}); err != nil {
		return e, fmt.Errorf("environment: HOLDFAST_LOG_LEVEL takes debug, info, warn or error")
	}
	return e, nil
}
