package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// row is a row of a result as a [sqldb.Row]. Its values are as the server sent them.
type row struct {
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	values [][]byte // nil for NULL
}

var _ sqldb.Row = row{}

// ColumnNull implements [sqldb.Row].
func (r row) ColumnNull(i int) bool { return r.values[i] == nil }

// ColumnBool implements [sqldb.Row].
func (r row) ColumnBool(i int) bool { return r.ColumnInt64(i) != 0 }

// ColumnInt implements [sqldb.Row].
func (r row) ColumnInt(i int) int { return int(r.ColumnInt64(i)) }

// ColumnInt64 implements [sqldb.Row].
func (r row) ColumnInt64(i int) int64 {
	v := r.values[i]
	if v == nil {
		return 0
	}
	if r.fields[i].Format == pgtype.BinaryFormatCode {
		switch r.fields[i].DataTypeOID {
		case pgtype.Int8OID:
			return int64(binary.BigEndian.Uint64(v))
		case pgtype.Int4OID:
			return int64(int32(binary.BigEndian.Uint32(v)))
		case pgtype.Int2OID:
			return int64(int16(binary.BigEndian.Uint16(v)))
		case pgtype.BoolOID:
			return int64(v[0])
		}
	}
	var n int64
	if err := r.types.Scan(r.fields[i].DataTypeOID, r.fields[i].Format, v, &n); err != nil {
		panic(fmt.Sprintf("column %s is no number: %v", r.fields[i].Name, err)) // a statement asks for the wrong column
	}
	return n
}

// ColumnText implements [sqldb.Row].
func (r row) ColumnText(i int) string {
	if r.fields[i].DataTypeOID == pgtype.ByteaOID {
		return string(r.values[i])
	}
	return unescape(string(r.values[i]))
}

// ColumnBlob implements [sqldb.Row].
func (r row) ColumnBlob(i int, buf []byte) []byte { return append(buf[:0], r.ColumnRawBlob(i)...) }

// ColumnRawBlob implements [sqldb.Row].
func (r row) ColumnRawBlob(i int) []byte {
	if v := r.values[i]; r.fields[i].DataTypeOID == pgtype.ByteaOID || !hasEscapes(string(v)) {
		return v
	}
	return []byte(r.ColumnText(i))
}

// ColumnValue implements [sqldb.Row].
func (r row) ColumnValue(i int) any {
	switch {
	case r.values[i] == nil:
		return nil
	case r.fields[i].DataTypeOID == pgtype.ByteaOID:
		return r.ColumnBlob(i, []byte{})
	case r.fields[i].DataTypeOID == pgtype.BoolOID:
		return r.ColumnBool(i)
	case r.fields[i].DataTypeOID == pgtype.TextOID:
		return r.ColumnText(i)
	}
	return r.ColumnInt64(i)
}
