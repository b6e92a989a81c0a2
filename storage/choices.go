package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// Choices lists the documents that say who holds a name, by document.
func (s *Store) Choices(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.Choice, error) {
	rows, err := collect(ctx, s.reads, func(row scanner) (engine.Choice, error) {
		c := engine.Choice{Service: service, Kind: kind, ID: id}
		var holders []byte
		if err := row.Scan(&c.Document, &holders); err != nil {
			return c, err
		}
		if err := json.Unmarshal(holders, &c.Holders); err != nil {
			return c, fmt.Errorf("who holds %s by document %s: %w", id, c.Document, err)
		}
		return c, nil
	}, `SELECT document, holders FROM choices WHERE id = ? AND service = ? AND kind = ? ORDER BY document`, string(id), string(service), string(kind))
	if err != nil {
		return nil, fmt.Errorf("list who holds %s: %w", id, err)
	}
	return rows, nil
}
