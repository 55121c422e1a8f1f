// Package admission tells whether a configuration document can rule on the
// deployed stack, beyond being valid: no secret stands in it, every reference
// leads to a place that the gateway's role may read, and no address means one
// particular machine. `make deploy` and the seeding command refuse a document
// that is not admitted. It knows no CDK.
//
// Errors are catalog.Problems with their paths; none repeats a secret.
package admission

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"holdfast/infra/settings"
	"holdfast/routing/catalog"
)

// Check returns what keeps doc from ruling. Secrets have to lie below stem:
// /stem/… in Parameter Store, stem/… in Secrets Manager, since the gateway's
// role reads nothing else.
func Check(doc *catalog.Document, stem string) []catalog.Problem {
	c := checker{stem: stem}
	for _, path := range doc.LiteralPaths() {
		c.refuse(path, "a secret stands here itself; store it as ssm:/%s/NAME or secretsmanager:%s/NAME and refer to it", stem, stem)
	}
	for i := range doc.Connections {
		c.connection(fmt.Sprintf("connections[%d]", i), &doc.Connections[i])
	}
	for i, k := range doc.Keys {
		c.reference(fmt.Sprintf("keys[%d].key", i), k.Key)
	}
	return c.problems
}

type checker struct {
	stem     string
	problems []catalog.Problem
}

func (c *checker) refuse(path, format string, args ...any) {
	c.problems = append(c.problems, catalog.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) connection(path string, one *catalog.Connection) {
	if strings.HasPrefix(one.BaseURL, "demo:") {
		c.refuse(path+".base_url", "simulated accounts run on a developer's machine only")
	}
	c.reference(path+".auth.key", one.Auth.Key)
	for i, key := range one.Auth.Keys {
		c.reference(fmt.Sprintf("%s.auth.keys[%d]", path, i), key)
	}
}

// Bedrock lists the services of Bedrock that doc's connections sign calls to,
// sorted, as package settings names them. The stack grants these and no others.
func Bedrock(doc *catalog.Document) []string {
	var found []string
	for _, c := range doc.Connections {
		switch {
		case c.Auth.Type != catalog.AuthSigV4:
		case strings.Contains(c.BaseURL, "//bedrock-mantle") || strings.Contains(c.BaseURL, ".bedrock-mantle."):
			found = append(found, settings.BedrockMantle)
		default:
			found = append(found, settings.BedrockRuntime)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// reference refuses one that leads nowhere from inside the function.
func (c *checker) reference(path, text string) {
	ref, err := catalog.ParseReference(text)
	if err != nil || ref.Literal() {
		return // Validate and LiteralPaths say it
	}
	switch ref.Scheme {
	case catalog.SchemeSSM:
		if !strings.HasPrefix(ref.Name, "/"+c.stem+"/") {
			c.refuse(path, "the gateway's role reads parameters below /%s/ only", c.stem)
		}
	case catalog.SchemeManager:
		if !strings.HasPrefix(secretName(ref.Name), c.stem+"/") {
			c.refuse(path, "the gateway's role reads secrets below %s/ only", c.stem)
		}
	default:
		c.refuse(path, "%s: means one process's own; the function has no such variable, store it as ssm:/%s/NAME", ref.Scheme, c.stem)
	}
}

// secretName is the name in a secret's ARN, or the whole text where it is none.
func secretName(text string) string {
	if parts := strings.SplitN(text, ":", 7); len(parts) == 7 && parts[0] == "arn" && parts[5] == "secret" {
		return parts[6]
	}
	return text
}

// HashCallers returns a copy of doc in which callers' keys that the environment
// holds are replaced by their SHA-256: the gateway only ever compares hashes, so
// the keys themselves need not travel. It returns a problem for each variable
// that is not set.
func HashCallers(doc *catalog.Document, lookup func(string) (string, bool)) (*catalog.Document, []catalog.Problem) {
	hashed, problems := *doc, []catalog.Problem(nil)
	hashed.Keys = slices.Clone(doc.Keys)
	for i := range hashed.Keys {
		k := &hashed.Keys[i]
		ref, err := catalog.ParseReference(k.Key)
		if err != nil || ref.Scheme != catalog.SchemeEnv {
			continue
		}
		key, err := ref.FromEnv(lookup)
		if err != nil {
			problems = append(problems, catalog.Problem{Path: fmt.Sprintf("keys[%d].key", i), Message: err.Error() + " here; its hash is what is stored"})
			continue
		}
		sum := sha256.Sum256([]byte(key))
		k.Key, k.KeySHA256 = "", hex.EncodeToString(sum[:])
	}
	return &hashed, problems
}
