// Package settings reads what an operator may choose about the stack: the
// values of `-c name=value`. Every value has a narrow form and unknown names are
// refused, so that a typing error does not deploy something else and no secret
// can find its way into a template. It knows no CDK.
//
// Errors: Parse returns all that is wrong, joined; branch on ErrInvalid. The
// messages name the setting and never repeat a value.
package settings

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"holdfast/infra/table"
)

// ErrInvalid: a setting cannot be taken.
var ErrInvalid = errors.New("settings: not valid")

// Settings are the operator's choices.
type Settings struct {
	Prefix       string   // of table names; its stem names secrets and the stack
	Gateway      string   // path of the gateway's asset, a zip or a folder with `bootstrap`
	Console      string   // path of the console's asset; "": no console
	Architecture string   // arm64 or x86_64
	Reserved     int      // concurrent exchanges at most; 0: no bound of our own
	LogLevel     string   // debug, info, warn or error
	LogDays      int      // how long log lines are kept
	Origins      []string // whose pages may call from a browser; "*": all
	Email        string   // who hears of alarms; "": nobody is written to
	FirstByte    int      // milliseconds, above which the 99th percentile alarms
	HourlySpend  float64  // USD at the providers, above which an hour alarms
	Region       string   // "": decided when deploying
	Endpoint     string   // where functions find AWS when it is an emulator; "": it is none
	Edge         *Edge    // nil: the function URL alone
	Bedrock      []string // services of Bedrock that the gateway signs calls to: BedrockRuntime, BedrockMantle
}

// The services of Bedrock, each with permissions of its own.
const (
	BedrockRuntime = "runtime" // bedrock-runtime.REGION.amazonaws.com
	BedrockMantle  = "mantle"  // bedrock-mantle.REGION.api.aws
)

// Edge is CloudFront in front of the function URL.
type Edge struct {
	Domain      string
	Zone        string // id of the hosted zone that holds Domain
	Certificate string // ARN; "": made here, which needs us-east-1
	WebACL      string // ARN; "": made here, which needs us-east-1
}

// EdgeRegion is where CloudFront takes certificates and web ACLs from.
const EdgeRegion = "us-east-1"

// setting reads one value into Settings. The error says what is accepted.
type setting func(s *Settings, value string) error

// Exists reports whether there is a file or folder of a name.
type Exists func(name string) bool

// The assets that `make bundle` writes, seen from the repository's root.
const (
	GatewayAsset = "dist/gateway.zip"
	ConsoleAsset = "dist/console.zip"
)

// Parse reads settings by name. Names with a "@" or a ":" are the CDK's own and
// left alone. The console is part of the stack where its asset exists, unless
// console=false; console=true demands it.
func Parse(values map[string]string, region string, exists Exists) (Settings, error) {
	s := Settings{
		Prefix: table.DefaultPrefix, Gateway: GatewayAsset, Architecture: "arm64", Reserved: 50,
		LogLevel: "info", LogDays: 30, Origins: []string{"*"}, FirstByte: 30_000, HourlySpend: 20, Region: region,
	}
	known, edge := names(exists), Edge{}
	maps.Copy(known, edgeNames(&edge))
	if exists(ConsoleAsset) {
		s.Console = ConsoleAsset
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		read, ours := known[name]
		switch {
		case strings.ContainsAny(name, "@:"):
		case !ours:
			wrong = append(wrong, fmt.Errorf("%w: -c %s is not known; there are %s", ErrInvalid, label(name), strings.Join(Names(), ", ")))
		default:
			if err := read(&s, values[name]); err != nil {
				wrong = append(wrong, fmt.Errorf("%w: -c %s %w", ErrInvalid, name, err))
			}
		}
	}
	if !exists(s.Gateway) {
		wrong = append(wrong, fmt.Errorf("%w: the gateway's asset %s is not there: make bundle", ErrInvalid, s.Gateway))
	}
	if err := edge.check(region); err != nil {
		wrong = append(wrong, err)
	}
	if edge.Domain != "" {
		s.Edge = &edge
	}
	return s, errors.Join(wrong...)
}

// label shortens a name that is quoted in an error: it may be anything.
func label(name string) string {
	if len(name) > 40 || !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(name) {
		return "with that name"
	}
	return name
}

// Names lists the settings.
func Names() []string {
	known := names(nil)
	maps.Copy(known, edgeNames(nil))
	return slices.Sorted(maps.Keys(known))
}

// check says what a domain needs beside itself.
func (e *Edge) check(region string) error {
	given := e.Zone != "" || e.Certificate != "" || e.WebACL != ""
	switch {
	case e.Domain == "" && given:
		return fmt.Errorf("%w: zone, certificate and webacl need -c domain", ErrInvalid)
	case e.Domain == "":
		return nil
	case e.Zone == "":
		return fmt.Errorf("%w: -c domain needs -c zone, the id of the hosted zone that holds it", ErrInvalid)
	case region == EdgeRegion:
		return nil
	case (e.Certificate == "") != (e.WebACL == ""):
		return fmt.Errorf("%w: -c certificate and -c webacl come together", ErrInvalid)
	}
	return nil
}

// Split reports whether certificate and web ACL have to be made by a stack of
// their own first, since the main one is not where CloudFront looks for them.
func (s Settings) Split() bool {
	return s.Edge != nil && s.Edge.Certificate == "" && s.Region != EdgeRegion
}

// Stem is the prefix without its last separator. Secrets that the gateway may
// read lie below it: /stem/… in Parameter Store, stem/… in Secrets Manager.
func (s Settings) Stem() string { return strings.TrimRight(s.Prefix, "-") }

// Name is the stack's: Holdfast, or Holdfast-STEM for another prefix.
func (s Settings) Name() string {
	if s.Prefix == table.DefaultPrefix {
		return "Holdfast"
	}
	return "Holdfast-" + s.Stem()
}
