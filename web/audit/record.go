package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Record is one call that changed something, or would have.
type Record struct {
	N  uint64    `json:"n"` // from 1, without gaps
	At time.Time `json:"at"`
	// Of is the number of the record that was written before the act, of which this one tells the end. That one has no Status.
	Of uint64 `json:"of"`
	// More is how many likewise were not recorded one by one before this one, because there were too many.
	More uint64 `json:"more"`
	// Account is who called; empty on loopback without accounts. By is how they have shown who they are (package auth), Token
	// the name of the token, Role what they might do then, Address where they were. By ByMember, Account is the name of a site.
	Account string `json:"account"`
	By      string `json:"by"`
	Token   string `json:"token"`
	Role    string `json:"role"`
	Address string `json:"address"`
	// As says with whose rights the application was asked for it, where another site's agent has called: the agent's here, or empty.
	As string `json:"as,omitempty"`

	Method string `json:"method"`
	Path   string `json:"path"` // escaped, without its query, which may hold what is secret
	// Status is that of the answer, zero before there is one, Problem the type of a refusal, Operation what came of it if that is an operation.
	Status    int    `json:"status"`
	Problem   string `json:"problem"`
	Operation string `json:"operation"`
	// Choice is what was decided, and of which site's user where another site's agent has called, as that site says.
	Choice string `json:"choice,omitempty"`

	// Previous is the hash of the record before, empty for the first ever; Hash is that of this one.
	Previous string `json:"previous"`
	Hash     string `json:"hash"`
}

// ByMember is how a record says that another site's agent has called, or has caused what it tells.
const ByMember = "member"

// seal sets the hash of r: HMAC-SHA256, under the key of the trail, over its JSON, as Go writes it, with an empty hash.
func (r *Record) seal(key []byte) error {
	sum, err := r.sum(key)
	r.Hash = sum
	return err
}

func (r Record) sum(key []byte) (string, error) {
	r.Hash = ""
	b, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, key)
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// longest is how much of a text from outside a record keeps.
const longest = 512

// tame makes r's texts such that they are read as they were written: valid UTF-8 of a bounded length, and a time in UTC.
func (r *Record) tame() {
	r.At = r.At.UTC().Truncate(time.Microsecond)
	for _, s := range []*string{&r.Account, &r.Token, &r.Address, &r.Method, &r.Path, &r.Problem, &r.Operation, &r.Choice} {
		if len(*s) > longest {
			*s = (*s)[:longest]
		}
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
}
