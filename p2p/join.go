package p2p

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/skerry/skerry/engine"
)

const (
	joinProtocol = engine.JoinCall
	// maxJoinRequest and maxJoinAnswer are the most bytes of the two frames; the answer has all records of the mesh.
	maxJoinRequest = engine.MaxJoinFrame
	maxJoinAnswer  = 32 << 20
	maxRefusal     = 1 << 10
)

// joinAnswer are the records of the mesh, or why the site is not let in.
type joinAnswer struct {
	Records []engine.SignedRecord `cbor:"1,keyasint,omitempty"`
	Refused string                `cbor:"2,keyasint,omitempty"`
}

// Join asks the site that issued token to let this one in, and returns all records of the mesh, of which the caller makes
// sure that it is the token's mesh. It works before Run and needs no Membership. When the inviter says no the
// error is a *engine.Refusal with its reason; ErrUnreachable: it was not reached, nothing has happened. After any
// other error the invitation may have been used; asking again with the same key is safe.
func (n *Network) Join(ctx context.Context, token Token, record engine.SiteRecord) ([]engine.SignedRecord, error) {
	inviter, err := peerOf(token.Inviter)
	if err != nil {
		return nil, fmt.Errorf("join the mesh: %w", err)
	}
	addrs, err := parseAddresses(token.Addresses)
	if err != nil {
		return nil, fmt.Errorf("join the mesh: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, guestTime)
	defer cancel()
	done := n.gater.joinBy(inviter)
	defer done()
	// What the inviter lets a stranger do differs from what it lets a member do: the next connection is a new one.
	defer func() {
		if err := n.host.Network().ClosePeer(inviter); err != nil {
			n.log.Debug("the connection to the inviter did not close", "err", err)
		}
	}()

	if err := n.host.Connect(ctx, peer.AddrInfo{ID: inviter, Addrs: addrs}); err != nil {
		return nil, fmt.Errorf("join the mesh: %w: %s at %v: %w%s", engine.ErrUnreachable, token.Inviter,
			token.Addresses, err, hintExpired(token))
	}
	s, err := n.host.NewStream(ctx, inviter, joinProtocol)
	if err != nil {
		return nil, fmt.Errorf("join the mesh: %w: %s lets no one in now: the invitation may be used, revoked or expired, or too many tries were wrong: %w%s",
			engine.ErrUnreachable, token.Inviter, err, hintExpired(token))
	}
	defer s.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = s.SetDeadline(deadline)
	}
	request := engine.JoinRequest{Invitation: token.Invitation, Secret: token.Secret, Record: record}
	var answer joinAnswer
	err = writeFrame(s, request, maxJoinRequest)
	if err == nil {
		err = newFrameReader(s).read(&answer, maxJoinAnswer)
	}
	switch {
	case err != nil:
		_ = s.Reset()
		return nil, fmt.Errorf("join the mesh: %s closed the connection: the invitation may be used, revoked or expired, or too many tries were wrong: %w%s",
			token.Inviter, err, hintExpired(token))
	case len(answer.Records) == 0:
		refused := answer.Refused
		if len(refused) > maxRefusal {
			refused = refused[:maxRefusal]
		}
		return nil, &engine.Refusal{Status: http.StatusForbidden, Type: "join", Detail: fmt.Sprintf("%s does not let this site in: %q", token.Inviter, refused)}
	}
	if err := checkRecords(answer.Records); err != nil {
		return nil, fmt.Errorf("join the mesh: what %s has of it: %w", token.Inviter, err)
	}
	return answer.Records, nil
}

// hintExpired says, for an invitation that is over by this site's clock, that this may be the cause.
func hintExpired(t Token) string {
	if t.Invitation != "" && time.Now().After(t.Expires) {
		return fmt.Sprintf(" (the invitation expired at %s)", t.Expires.UTC().Format(time.RFC3339))
	}
	return ""
}

// serveJoin answers the join request of one stranger. The connection ends with it, whatever the answer: as a
// member the site connects anew.
func (n *Network) serveJoin(ctx context.Context, s network.Stream) {
	from := addressIP(s.Conn().RemoteMultiaddr())
	site := siteOf(s.Conn().RemotePeer())
	defer func() {
		if n.gater.host(s.Conn().RemotePeer()) {
			return
		}
		if err := s.Conn().Close(); err != nil {
			n.log.Debug("the connection of a joining site did not close", "peer", site, "err", err)
		}
	}()
	_ = s.SetDeadline(time.Now().Add(guestTime))
	if !n.gater.open(from) && !n.gater.member(s.Conn().RemotePeer()) {
		_ = s.Reset()
		return
	}
	r := newFrameReader(s)
	var request engine.JoinRequest
	if err := r.read(&request, maxJoinRequest); err != nil {
		n.gater.refused(from)
		n.log.Warn("a join request was not understood", "peer", site, "err", err)
		_ = s.Reset()
		return
	}
	request.Site = site

	ctx, cancel := context.WithTimeout(ctx, guestTime)
	defer cancel()
	records, err := n.gater.members().Admit(ctx, request)
	answer := joinAnswer{Records: records}
	if err != nil {
		answer = joinAnswer{Refused: "this site could not do it now: try again"}
		if r := (*engine.Refusal)(nil); errors.As(err, &r) {
			n.gater.refused(from)
			answer.Refused = r.Detail
		}
		n.log.Warn("a site was not let in", "peer", site, "site", request.Record.Name, "err", err)
	} else {
		n.log.Info("a site was let in", "peer", site, "site", request.Record.Name)
		n.MembersChanged()
	}
	if err := writeFrame(s, answer, maxJoinAnswer); err != nil {
		n.log.Warn("a joining site did not get its answer", "peer", site, "err", err)
		_ = s.Reset()
		return
	}
	// The other side closes first, when it has read the answer: closing the connection now could lose it.
	_ = s.CloseWrite()
	_, _ = r.r.ReadByte()
	_ = s.Close()
}
