package settings

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The forms of values.
var (
	prefixForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}-$`)
	domainForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$`)
	zoneForm   = regexp.MustCompile(`^Z[A-Z0-9]{1,31}$`)
	emailForm  = regexp.MustCompile(`^[^@\s]{1,64}@[^@\s]{1,190}\.[a-zA-Z]{2,63}$`)
	pathForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,200}$`)
	localForm  = regexp.MustCompile(`^http://[a-z][a-z0-9.-]{0,62}:[0-9]{2,5}$`)
	acmForm    = regexp.MustCompile(`^arn:aws[a-z-]*:acm:us-east-1:[0-9]{12}:certificate/[a-f0-9-]{36}$`)
	wafForm    = regexp.MustCompile(`^arn:aws[a-z-]*:wafv2:us-east-1:[0-9]{12}:global/webacl/[A-Za-z0-9_-]{1,128}/[a-f0-9-]{36}$`)
)

// logDays are the retentions that CloudWatch Logs offers.
func logDays() []int {
	return []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
}

// names are the settings of the stack itself.
func names(exists Exists) map[string]setting {
	return map[string]setting{
		"prefix":       text(prefixForm, "takes small letters, digits and '-', with '-' at the end", func(s *Settings, v string) { s.Prefix = v }),
		"gateway":      text(pathForm, "takes the path of a zip or a folder", func(s *Settings, v string) { s.Gateway = v }),
		"console":      func(s *Settings, v string) error { return console(s, v, exists) },
		"architecture": oneOf([]string{"arm64", "x86_64"}, func(s *Settings, v string) { s.Architecture = v }),
		"reserved":     number(0, 100_000, func(s *Settings, n int) { s.Reserved = n }),
		"loglevel":     oneOf([]string{"debug", "info", "warn", "error"}, func(s *Settings, v string) { s.LogLevel = v }),
		"logdays":      days,
		"origins":      origins,
		"email":        text(emailForm, "takes one address", func(s *Settings, v string) { s.Email = v }),
		"endpoint":     text(localForm, "takes an emulator's address, as in http://localstack:4566", func(s *Settings, v string) { s.Endpoint = v }),
		"firstbyte":    number(1, 900_000, func(s *Settings, n int) { s.FirstByte = n }),
		"spend":        spend,
		"bedrock":      bedrock,
	}
}

// edgeNames are the settings that put CloudFront in front.
func edgeNames(e *Edge) map[string]setting {
	return map[string]setting{
		"domain":      text(domainForm, "takes a host name in small letters", func(_ *Settings, v string) { e.Domain = v }),
		"zone":        text(zoneForm, "takes the id of a hosted zone, as in Z0123456789ABC", func(_ *Settings, v string) { e.Zone = v }),
		"certificate": text(acmForm, "takes the ARN of a certificate in us-east-1", func(_ *Settings, v string) { e.Certificate = v }),
		"webacl":      text(wafForm, "takes the ARN of a global web ACL in us-east-1", func(_ *Settings, v string) { e.WebACL = v }),
	}
}

func text(form *regexp.Regexp, accepts string, set func(*Settings, string)) setting {
	return func(s *Settings, value string) error {
		if !form.MatchString(value) {
			return errors.New(accepts)
		}
		set(s, value)
		return nil
	}
}

func oneOf(accepted []string, set func(*Settings, string)) setting {
	return func(s *Settings, value string) error {
		if !slices.Contains(accepted, value) {
			return fmt.Errorf("takes %s", strings.Join(accepted, ", "))
		}
		set(s, value)
		return nil
	}
}

func number(low, high int, set func(*Settings, int)) setting {
	return func(s *Settings, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < low || n > high {
			return fmt.Errorf("takes a whole number from %d to %d", low, high)
		}
		set(s, n)
		return nil
	}
}

func console(s *Settings, value string, exists Exists) error {
	switch {
	case value == "false":
		s.Console = ""
	case value != "true":
		return errors.New("takes true or false")
	case !exists(ConsoleAsset):
		return errors.New("needs " + ConsoleAsset + ": make bundle")
	default:
		s.Console = ConsoleAsset
	}
	return nil
}

func days(s *Settings, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || !slices.Contains(logDays(), n) {
		return fmt.Errorf("takes a number of days that CloudWatch offers: %v", logDays())
	}
	s.LogDays = n
	return nil
}

func spend(s *Settings, value string) error {
	usd, err := strconv.ParseFloat(value, 64)
	if err != nil || !(usd > 0 && usd < 1e9) {
		return errors.New("takes USD an hour, above 0")
	}
	s.HourlySpend = usd
	return nil
}

// bedrock takes the services that connections with AWS signatures lead to.
func bedrock(s *Settings, value string) error {
	list := strings.Split(value, ",")
	slices.Sort(list)
	list = slices.Compact(list)
	for _, one := range list {
		if one != BedrockRuntime && one != BedrockMantle {
			return errors.New("takes " + BedrockRuntime + " and " + BedrockMantle + ", separated by commas")
		}
	}
	s.Bedrock = list
	return nil
}

// origins takes the same list as the variable that the gateway reads.
func origins(s *Settings, value string) error {
	list := strings.Split(value, ",")
	for _, origin := range list {
		u, err := url.Parse(origin)
		whole := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && origin == u.Scheme+"://"+u.Host
		if origin != "*" && !whole || len(origin) > 253 {
			return errors.New("takes * or origins such as https://app.example.com, separated by commas")
		}
	}
	if len(list) > 100 {
		return errors.New("takes at most 100 origins")
	}
	s.Origins = list
	return nil
}
