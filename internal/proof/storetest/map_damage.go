package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// HalfMap begins a map of six items in a conversation: 0 and 1 are done, 2 has failed,
// 3 is that of a process that died, the others wait.
func HalfMap(ctx context.Context, db store.Maps, id store.ConversationID) error {
	run, err := db.StartMap(ctx, id, halfMap)
	if err != nil {
		return err
	}
	used := llms.Usage{InputTokens: 10, OutputTokens: 5}
	_, err = db.StepMap(ctx, id, run, store.MapStep{Owner: "a", Claim: 4, Lease: -time.Second})
	if err == nil {
		_, err = db.StepMap(ctx, id, run, store.MapStep{Owner: "a", Settle: []store.MapItem{
			{N: 0, Status: store.MapDone, Attempts: 1, Output: `"a"`, Usage: used}, {N: 1, Status: store.MapDone, Attempts: 2, Output: `"b"`, Usage: used},
			{N: 2, Status: store.MapFailed, Attempts: 3, Error: "no", Usage: used}}})
	}
	return err
}

var halfMap = store.NewMap{Key: "map:half", Job: sha256.Sum256([]byte("ask")), Items: 6}

// ResumeMap goes on with the map of [HalfMap] as another process would, and returns the outputs
// by item. It fails if the map does not end within a number of steps.
func ResumeMap(ctx context.Context, db store.Maps, id store.ConversationID) (outputs map[int]string, err error) {
	run, err := db.StartMap(ctx, id, halfMap)
	if err != nil {
		return nil, err
	}
	var settle []store.MapItem
	for range 20 {
		state, err := db.StepMap(ctx, id, run, store.MapStep{Owner: "b", Claim: 2, Lease: -time.Hour, Settle: settle})
		if err != nil {
			return nil, err
		}
		if state.Open() == 0 {
			outputs = map[int]string{}
			for i, err := range db.MapItems(ctx, id, run) {
				if err != nil {
					return nil, err
				}
				outputs[i.N] = i.Output
			}
			return outputs, nil
		}
		settle = nil
		for _, i := range state.Claimed {
			settle = append(settle, store.MapItem{N: i.N, Status: store.MapDone, Attempts: 1, Output: `"new"`})
		}
	}
	return nil, errors.New("the map does not end")
}

// MapDamage changes the map of [HalfMap], which has the number 1, behind the store's back.
var MapDamage = []string{
	`UPDATE map_runs SET conversation = 2`,
	`UPDATE map_runs SET conversation = 99`,
	`UPDATE map_runs SET key = 'other'`,
	`UPDATE map_runs SET job = (SELECT seal FROM map_items WHERE n = 0)`,
	`UPDATE map_runs SET items = 5`,
	`UPDATE map_runs SET items = 7`,
	`UPDATE map_runs SET seal = NULL`,
	`UPDATE map_runs SET id = 9`,
	`DELETE FROM map_runs`,
	`DELETE FROM map_items; DELETE FROM map_runs`,
	`INSERT INTO map_runs (conversation, key, job, items) SELECT conversation, 'new', job, 0 FROM map_runs`,
	`UPDATE map_items SET run = 9 WHERE n = 5`,
	`UPDATE map_items SET n = 9 WHERE n = 5`,
	`UPDATE map_items SET n = -1 WHERE n = 0`,
	`UPDATE map_items SET status = 0 WHERE n = 0`,
	`UPDATE map_items SET status = 2, output = '"forged"' WHERE n = 4`,
	`UPDATE map_items SET status = 2 WHERE n = 2`,
	`UPDATE map_items SET status = 3 WHERE n = 1`,
	`UPDATE map_items SET status = 7 WHERE n = 5`,
	`UPDATE map_items SET status = 1, owner = 'ghost', lease = 99999999999999 WHERE n = 5`,
	`UPDATE map_items SET attempts = 99 WHERE n = 0`,
	`UPDATE map_items SET owner = 'b' WHERE n = 3`,
	`UPDATE map_items SET lease = 99999999999999 WHERE n = 3`,
	`UPDATE map_items SET output = '"forged"' WHERE n = 0`,
	`UPDATE map_items SET output = NULL WHERE n = 1`,
	`UPDATE map_items SET error = 'forged' WHERE n = 2`,
	`UPDATE map_items SET tokens_in = 0 WHERE n = 0`,
	`UPDATE map_items SET tokens_out = tokens_out + 1 WHERE n = 4`,
	`UPDATE map_items SET seal = NULL WHERE n = 4`,
	`UPDATE map_items SET seal = (SELECT seal FROM map_items WHERE n = 0) WHERE n = 1`,
	`UPDATE map_items SET n = 99 WHERE n = 0; UPDATE map_items SET n = 0 WHERE n = 1; UPDATE map_items SET n = 1 WHERE n = 99`,
	`DELETE FROM map_items WHERE n = 0`,
	`DELETE FROM map_items WHERE n = 5`,
	`DELETE FROM map_items`,
	`INSERT INTO map_items (run, n, status, output) VALUES (1, 6, 2, '"forged"')`,
	`DELETE FROM seals WHERE name = 'maps'`,
	`UPDATE seals SET entries = entries + 1 WHERE name = 'maps'`,
}
