package memory

import (
	"context"
	"io"

	"github.com/skerry/skerry/engine"
)

// Fetch brings a blob from one site to another without a wire between them: what engine.Network's Fetch does.
func Fetch(ctx context.Context, from engine.Replicas, to engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	digests, content, err := from.Blob(ctx, to, document, ref, into.Next())
	if err != nil {
		return err
	}
	defer content.Close()
	if into.Digests() == nil {
		if err := into.SetDigests(digests); err != nil {
			return err
		}
	}
	chunk := make([]byte, ref.ChunkLen(0))
	for i := into.Next(); i < ref.Chunks(); i++ {
		part := chunk[:ref.ChunkLen(i)]
		if _, err := io.ReadFull(content, part); err != nil {
			return err
		}
		if err := into.Add(part); err != nil {
			return err
		}
	}
	return nil
}

// Whole returns a call whose body is in memory.
func Whole(c engine.Call) (engine.Call, error) {
	if c.Content == nil {
		return c, nil
	}
	body, err := io.ReadAll(c.Content)
	c.Body, c.Content = body, nil
	return c, err
}
