// pgx 5: a garden, through pool, batches, binary COPY, query modes, messages and nested transactions.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	ctx          = context.Background()
	held, broken int
	counting     sync.Mutex
	keepsThePast = os.Getenv("KEEPS_THE_PAST") == "yes"
)

func note(holds bool, told string) {
	counting.Lock()
	defer counting.Unlock()
	if holds {
		held++
		return
	}
	broken++
	for depth := 2; depth < 6; depth++ {
		_, file, line, _ := runtime.Caller(depth)
		if strings.HasSuffix(file, "main.go") {
			fmt.Printf("main.go:%d: %s\n", line, told)
			return
		}
	}
	fmt.Println(told)
}

// same checks that two values are equal.
func same(got, wanted any) {
	note(reflect.DeepEqual(got, wanted), fmt.Sprintf("got %#v, wanted %#v", got, wanted))
}

// well checks that nothing went wrong.
func well(err error) {
	note(err == nil, fmt.Sprint(err))
}

// refused checks that the server refused with this SQLSTATE, and gives its error.
func refused(state string, err error) *pgconn.PgError {
	var told *pgconn.PgError
	note(errors.As(err, &told) && told.Code == state, fmt.Sprintf("wanted %s, got %v", state, err))
	if told == nil {
		return &pgconn.PgError{}
	}
	return told
}

func connect() *pgx.Conn {
	db, err := pgx.Connect(ctx, "")
	if err != nil {
		panic(err)
	}
	return db
}

// one is the only value of the only row of a query.
func one[T any](db interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, sql string, args ...any) T {
	var value T
	well(db.QueryRow(ctx, sql, args...).Scan(&value))
	return value
}

func tables() {
	db := connect()
	defer db.Close(ctx)
	_, err := db.Exec(ctx, `
		CREATE TYPE colour AS ENUM ('red', 'green');
		CREATE TYPE spot AS (x int, y int);
		CREATE TABLE bed (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, size numeric(6, 2) CHECK (size > 0));
		CREATE TABLE plant (id bigserial PRIMARY KEY, bed int REFERENCES bed, name text, colour colour, spot spot,
			height float8, sown date, watered timestamptz, tags text[], data jsonb, code uuid, life interval)`)
	well(err)
	same(db.PgConn().ParameterStatus("server_encoding"), "UTF8")
}

func values() {
	db := connect()
	defer db.Close(ctx)
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	for _, each := range []struct {
		name  string
		value any
	}{
		{"bool", true}, {"int2", int16(-5)}, {"int4", int32(1 << 30)}, {"int8", int64(-1 << 63)},
		{"float4", float32(1.5)}, {"float8", 1e300}, {"text", "häß 😀"}, {"varchar(3)", "abc"},
		{"bytea", []byte{0, 255}}, {"date", day}, {"timestamp", day.Add(3 * time.Microsecond)},
		{"timestamptz", day.Add(time.Hour)}, {"int4[]", []int32{1, 2, 3}}, {"text[]", []string{"a", `b"c`, ""}},
		{"float8[]", []float64{0.5, -1}}, {"bool[]", []bool{true, false}}, {"bytea[]", [][]byte{{1}, {}}},
		{"uuid", [16]byte{1, 2, 3, 15: 9}}, {"oid", uint32(4294967295)},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
			pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
			value := reflect.New(reflect.TypeOf(each.value))
			given := each.value
			if id, ok := given.([16]byte); ok && mode >= pgx.QueryExecModeExec {
				given = fmt.Sprintf("%x", id[:])
			}
			err := db.QueryRow(ctx, "SELECT $1::"+each.name, mode, given).Scan(value.Interface())
			well(err)
			got := value.Elem().Interface()
			if at, ok := got.(time.Time); ok {
				got = at.UTC()
			}
			same(got, each.value)
		}
	}
	var number pgtype.Numeric
	well(db.QueryRow(ctx, "SELECT $1::numeric", "12345678901234567890.00010").Scan(&number))
	same([]any{number.Int.String(), number.Exp}, []any{"1234567890123456789000010", int32(-5)})
	var life pgtype.Interval
	well(db.QueryRow(ctx, "SELECT $1::interval", pgtype.Interval{Months: 1, Days: 2, Microseconds: 3, Valid: true}).Scan(&life))
	same(life, pgtype.Interval{Months: 1, Days: 2, Microseconds: 3, Valid: true})
	var data map[string]any
	well(db.QueryRow(ctx, "SELECT $1::jsonb", map[string]any{"a": []int{1}}).Scan(&data))
	same(data, map[string]any{"a": []any{1.0}})
	var nothing *string
	well(db.QueryRow(ctx, "SELECT NULL::text").Scan(&nothing))
	same(nothing, (*string)(nil))
	var clock pgtype.Time
	well(db.QueryRow(ctx, "SELECT time '01:02:03.000004'").Scan(&clock))
	same(clock.Microseconds, int64(3723000004))
	var grid [][]int32
	well(db.QueryRow(ctx, "SELECT ARRAY[[1, 2], [3, 4]]").Scan(&grid))
	same(grid, [][]int32{{1, 2}, {3, 4}})
	var at pgtype.Timestamptz
	well(db.QueryRow(ctx, "SELECT 'infinity'::timestamptz").Scan(&at))
	same(at.InfinityModifier, pgtype.Infinity)
}

func typesOfOurOwn() {
	db := connect()
	defer db.Close(ctx)
	for _, name := range []string{"colour", "_colour", "spot", "_spot"} {
		kind, err := db.LoadType(ctx, name)
		well(err)
		db.TypeMap().RegisterType(kind)
	}
	type Spot struct{ X, Y int32 }
	var colours []string
	well(db.QueryRow(ctx, "SELECT $1::colour[]", []string{"red", "green"}).Scan(&colours))
	same(colours, []string{"red", "green"})
	var spot Spot
	well(db.QueryRow(ctx, "SELECT $1::spot", Spot{1, 2}).Scan(&spot))
	same(spot, Spot{1, 2})
	var spots []Spot
	well(db.QueryRow(ctx, "SELECT ARRAY[$1::spot, ROW(3, 4)::spot]", Spot{1, 2}).Scan(&spots))
	same(spots, []Spot{{1, 2}, {3, 4}})
	_, err := db.Exec(ctx, "SELECT $1::colour", "blue")
	refused("22P02", err)
}

func batches() {
	db := connect()
	defer db.Close(ctx)
	batch := &pgx.Batch{}
	for n := 1; n <= 50; n++ {
		batch.Queue("INSERT INTO bed (name, size) VALUES ($1, $2) RETURNING id", fmt.Sprintf("bed %d", n), float64(n))
	}
	batch.Queue("SELECT count(*), sum(size)::float8 FROM bed")
	results := db.SendBatch(ctx, batch)
	for n := 1; n <= 50; n++ {
		var id int
		well(results.QueryRow().Scan(&id))
		same(id, n)
	}
	var count int
	var sum float64
	well(results.QueryRow().Scan(&count, &sum))
	same([]any{count, sum}, []any{50, 1275.0})
	well(results.Close())
	// One that fails takes the whole batch with it.
	batch = &pgx.Batch{}
	batch.Queue("INSERT INTO bed (name, size) VALUES ('lost', 1)")
	batch.Queue("INSERT INTO bed (name, size) VALUES ('bed 1', 1)")
	batch.Queue("SELECT 1")
	refused("23505", db.SendBatch(ctx, batch).Close())
	same(one[int](db, "SELECT count(*) FROM bed WHERE name = 'lost'"), 0)
}

func copying() {
	db := connect()
	defer db.Close(ctx)
	kind, err := db.LoadType(ctx, "colour")
	well(err)
	db.TypeMap().RegisterType(kind)
	day := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	columns := []string{"bed", "name", "colour", "height", "sown", "watered", "tags", "data", "code", "life"}
	count, err := db.CopyFrom(ctx, pgx.Identifier{"plant"}, columns, pgx.CopyFromSlice(3000, func(n int) ([]any, error) {
		return []any{1 + n%50, fmt.Sprintf("plant %d", n), []string{"red", "green"}[n%2], float64(n) / 2, day.AddDate(0, 0, n),
			day.Add(time.Duration(n) * time.Minute), []string{"a", fmt.Sprint(n)}, map[string]int{"n": n}, [16]byte{0: byte(n)},
			pgtype.Interval{Days: int32(n), Valid: true}}, nil
	}))
	well(err)
	same(count, int64(3000))
	same(one[int64](db, "SELECT count(*) FROM plant WHERE colour = 'red' AND (data->>'n')::int % 2 = 0"), int64(1500))
	var out strings.Builder
	tag, err := db.PgConn().CopyTo(ctx, &out, "COPY (SELECT name, height FROM plant ORDER BY id LIMIT 2) TO STDOUT (FORMAT csv)")
	well(err)
	same([]any{tag.RowsAffected(), out.String()}, []any{int64(2), "plant 0,0\nplant 1,0.5\n"})
	tag, err = db.PgConn().CopyFrom(ctx, strings.NewReader("1,by hand\n"), "COPY plant (bed, name) FROM STDIN (FORMAT csv)")
	well(err)
	same(tag.String(), "COPY 1")
	_, err = db.CopyFrom(ctx, pgx.Identifier{"plant"}, []string{"bed"}, pgx.CopyFromRows([][]any{{999}}))
	refused("23503", err)
	_, err = db.PgConn().CopyFrom(ctx, strings.NewReader("x\n"), "COPY plant (bed) FROM STDIN")
	refused("22P02", err)
}

func rows() {
	db := connect()
	defer db.Close(ctx)
	type Plant struct {
		Name   string
		Height *float64
		Tags   []string
	}
	query, err := db.Query(ctx, "SELECT name, height, tags FROM plant WHERE id = any($1) ORDER BY id", []int64{1, 2})
	well(err)
	found, err := pgx.CollectRows(query, pgx.RowToStructByName[Plant])
	well(err)
	half := 0.5
	none := 0.0
	same(found, []Plant{{"plant 0", &none, []string{"a", "0"}}, {"plant 1", &half, []string{"a", "1"}}})
	query, _ = db.Query(ctx, "SELECT id FROM plant ORDER BY id LIMIT 10000")
	ids, err := pgx.CollectRows(query, pgx.RowTo[int64])
	well(err)
	same(len(ids), 3001)
	names := pgx.NamedArgs{"bed": 3, "least": 1000}
	same(one[int](db, "SELECT count(*) FROM plant WHERE bed = @bed AND height > @least", names), 20)
	described, err := db.Prepare(ctx, "by_bed", "SELECT name, height FROM plant WHERE bed = $1")
	well(err)
	same([]any{described.ParamOIDs, described.Fields[0].Name, described.Fields[1].DataTypeOID},
		[]any{[]uint32{pgtype.Int4OID}, "name", uint32(pgtype.Float8OID)})
	tag, err := db.Exec(ctx, "by_bed", 1)
	well(err)
	same(tag.String(), "SELECT 61")
	well(db.Deallocate(ctx, "by_bed"))
	// A table that changes under a cached statement: the first call is refused, the next is not.
	_, err = db.Exec(ctx, "CREATE TABLE changing AS SELECT 1 AS a")
	well(err)
	read := func() error {
		query, err := db.Query(ctx, "SELECT * FROM changing")
		if err != nil {
			return err
		}
		_, err = pgx.CollectRows(query, pgx.RowToMap)
		return err
	}
	well(read())
	_, err = db.Exec(ctx, "ALTER TABLE changing ADD b text")
	well(err)
	refused("0A000", read())
	well(read())
}

func transactions() {
	db, other := connect(), connect()
	defer db.Close(ctx)
	defer other.Close(ctx)
	size := func(on *pgx.Conn) float64 { return one[float64](on, "SELECT size::float8 FROM bed WHERE id = 1") }
	well(pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE bed SET size = 10 WHERE id = 1")
		well(err)
		// A transaction within is a savepoint.
		err = pgx.BeginFunc(ctx, tx, func(within pgx.Tx) error {
			_, err := within.Exec(ctx, "UPDATE bed SET size = -1 WHERE id = 1")
			return err
		})
		refused("23514", err)
		well(pgx.BeginFunc(ctx, tx, func(within pgx.Tx) error {
			_, err := within.Exec(ctx, "UPDATE bed SET size = size + 1 WHERE id = 1")
			return err
		}))
		same(size(other), 1.0)
		return nil
	}))
	same(size(other), 11.0)
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	tx, err := db.BeginTx(ctx, options)
	well(err)
	same(one[string](tx, "SHOW transaction_isolation"), "repeatable read")
	_, err = tx.Exec(ctx, "DELETE FROM plant")
	refused("25006", err)
	well(tx.Rollback(ctx))
	tx, err = db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	well(err)
	same(one[float64](tx, "SELECT size::float8 FROM bed WHERE id = 1"), 11.0)
	_, err = other.Exec(ctx, "UPDATE bed SET size = 12 WHERE id = 1")
	well(err)
	_, err = tx.Exec(ctx, "UPDATE bed SET size = 13 WHERE id = 1")
	refused("40001", err)
	well(tx.Rollback(ctx))
	tx, err = db.Begin(ctx)
	well(err)
	objects := tx.LargeObjects()
	_, err = objects.Create(ctx, 0)
	if keepsThePast {
		note(err != nil, "there are no large objects")
	}
	well(tx.Rollback(ctx))
	same(one[int](db, "SELECT 1"), 1)
}

func refusals() {
	db := connect()
	defer db.Close(ctx)
	_, err := db.Exec(ctx, "INSERT INTO bed (name) VALUES ($1)", "bed 2")
	told := refused("23505", err)
	same([]string{told.SchemaName, told.TableName, told.ConstraintName, told.Detail},
		[]string{"pgx", "bed", "bed_name_key", "Key (name)=(bed 2) already exists."})
	_, err = db.Exec(ctx, "SELECT nam FROM bed")
	told = refused("42703", err)
	same([]any{told.Position, told.Hint}, []any{int32(8), `Perhaps you meant to reference the column "bed.name".`})
	for _, each := range [][2]string{{"42601", "SELEC"}, {"42P01", "SELECT * FROM nothing"}, {"42883", "SELECT nothing(1)"},
		{"22012", "SELECT 1 / 0"}, {"22P02", "SELECT 'x'::int"}, {"428C9", "INSERT INTO bed (id, name) VALUES (1, 'x')"}} {
		_, err = db.Exec(ctx, each[1])
		refused(each[0], err)
	}
	short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop()
	_, err = db.Exec(short, "SELECT pg_sleep(20)")
	note(errors.Is(err, context.DeadlineExceeded), fmt.Sprint(err))
	_, err = pgx.Connect(ctx, "dbname=nothing_of_this_name")
	refused("3D000", err)
}

func messages() {
	db, other := connect(), connect()
	defer db.Close(ctx)
	defer other.Close(ctx)
	_, err := db.Exec(ctx, "LISTEN rain")
	well(err)
	_, err = other.Exec(ctx, "SELECT pg_notify('rain', $1)", "soon")
	well(err)
	patience, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	told, err := db.WaitForNotification(patience)
	well(err)
	same([]any{told.Channel, told.Payload, told.PID}, []any{"rain", "soon", other.PgConn().PID()})
}

func aPool() {
	pool, err := pgxpool.New(ctx, "pool_max_conns=4 application_name=garden")
	well(err)
	defer pool.Close()
	var all sync.WaitGroup
	for n := 0; n < 20; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := pool.Exec(ctx, "UPDATE bed SET size = size + 1 WHERE id = 2")
			well(err)
		}()
	}
	all.Wait()
	same(one[float64](pool, "SELECT size::float8 FROM bed WHERE id = 2"), 22.0)
	same(one[string](pool, "SHOW application_name"), "garden")
	query, _ := pool.Query(ctx, "SELECT DISTINCT state FROM pg_stat_activity WHERE application_name = 'garden'")
	states, err := pgx.CollectRows(query, pgx.RowTo[string])
	well(err)
	sort.Strings(states)
	same(states[0], "active")
}

func thePast() {
	if !keepsThePast {
		return
	}
	db := connect()
	defer db.Close(ctx)
	then := one[time.Time](db, "SELECT clock_timestamp()")
	_, err := db.Exec(ctx, "DELETE FROM plant WHERE bed = 2")
	well(err)
	same(one[int](db, "SELECT count(*) FROM plant WHERE bed = 2"), 0)
	same(one[int](db, "SELECT count(*) FROM plant FOR SYSTEM_TIME AS OF $1 WHERE bed = 2", then), 60)
}

func main() {
	for _, part := range []struct {
		name string
		work func()
	}{{"tables", tables}, {"values", values}, {"typesOfOurOwn", typesOfOurOwn}, {"batches", batches}, {"copying", copying},
		{"rows", rows}, {"transactions", transactions}, {"refusals", refusals}, {"messages", messages}, {"aPool", aPool},
		{"thePast", thePast}} {
		fmt.Println("part:", part.name)
		func() {
			defer func() {
				if reason := recover(); reason != nil {
					broken++
					fmt.Println(part.name, "ended early:", reason)
				}
			}()
			part.work()
		}()
	}
	version := "?"
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, module := range built.Deps {
			if strings.HasSuffix(module.Path, "/pgx/v5") {
				version = module.Version
			}
		}
	}
	fmt.Printf("version: pgx %s, %s\nheld: %d\nbroken: %d\n", version, runtime.Version(), held, broken)
	if broken > 0 {
		os.Exit(1)
	}
}
