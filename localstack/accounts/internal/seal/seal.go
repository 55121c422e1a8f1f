// Package seal makes text that only the account which made it can read again:
// encrypted reasoning and the signatures of thinking blocks.
//
// Invariants: the key follows from the account's name alone, so what an account
// sealed stays readable after a restart; the same text sealed twice gives the
// same bytes; text sealed for one purpose does not open for another.
//
// Concurrency: a Box never changes.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Box seals and opens for one account.
type Box struct {
	key  [sha256.Size]byte
	aead cipher.AEAD
	any  bool
}

// New makes the box of the named account. With any it accepts what anybody has
// sealed, which recorded conversations need.
func New(account string, any bool) *Box {
	key := sha256.Sum256([]byte("simulated account\x00" + account))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(fmt.Sprintf("seal: a 32-byte key was refused: %v", err))
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(fmt.Sprintf("seal: %v", err))
	}
	return &Box{key: key, aead: aead, any: any}
}

// Seal hides text for one purpose. The nonce is a digest of what is sealed, so
// that two different texts never share one.
func (b *Box) Seal(purpose, text string) string {
	mac := hmac.New(sha256.New, b.key[:])
	mac.Write([]byte(purpose + "\x00" + text))
	nonce := mac.Sum(nil)[:b.aead.NonceSize()]
	return base64.StdEncoding.EncodeToString(b.aead.Seal(nonce, nonce, []byte(text), []byte(purpose)))
}

// Open gives back the text, or false when another account, another purpose or
// nobody sealed it.
func (b *Box) Open(purpose, sealed string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(raw) < b.aead.NonceSize() {
		return "", false
	}
	nonce, body := raw[:b.aead.NonceSize()], raw[b.aead.NonceSize():]
	text, err := b.aead.Open(nil, nonce, body, []byte(purpose))
	return string(text), err == nil
}

// Accepts tells whether sealed text is this account's, and is what is shown
// beside it; nothing shown is fine.
func (b *Box) Accepts(purpose, sealed, shown string) bool {
	if b.any {
		return true
	}
	text, ok := b.Open(purpose, sealed)
	return ok && (shown == "" || shown == text)
}
