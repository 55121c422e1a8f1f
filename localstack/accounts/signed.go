package accounts

import (
	"errors"

	"holdfast/localstack/accounts/internal/refusal"
	"holdfast/localstack/accounts/sigv4"
)

// Signed makes an account one of AWS: requests must carry a signature,
// version 4, that fits what was received.
type Signed struct {
	Region, Service string
	Key             func(id string) (sigv4.Key, bool) // the access keys that are good now
}

// unsigned checks a request's signature and says what AWS says to a wrong one;
// nil where the account wants none. The journal knows the access key as the
// credential.
func (x *exchange) unsigned() *refusal.Refusal {
	s := x.account.config.Signed
	if s == nil {
		return nil
	}
	id, err := sigv4.Check(x.r, x.body, sigv4.Scope{Region: s.Region, Service: s.Service}, s.Key, x.account.config.Now())
	if id != "" {
		x.key = KeyHash(id)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sigv4.ErrMissing):
		return refused(403, "", "", "Missing Authentication Token")
	case errors.Is(err, sigv4.ErrKey):
		return refused(403, "", "", "The security token included in the request is invalid")
	case errors.Is(err, sigv4.ErrSignature):
		return refused(403, "", "", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.")
	}
	return refused(403, "", "", "%v", err)
}
