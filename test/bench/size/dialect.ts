/** The first record's time, in seconds. */
export const FIRST_AT = Date.UTC(2026, 0, 5) / 1000

/** SQL differences between the databases. Functions take and return SQL expressions. */
export interface Dialect {
  /** `from` clause with `i` from `first` up to, but not including, `end`. */
  series(first: number, end: number): string
  /** A UUID of a family that ends in `n`. */
  uuid(family: number, n: string): string
  time(seconds: string): string
  concat(...parts: string[]): string
  readonly bool: (value: boolean) => string
  /** A condition as a boolean column. */
  readonly whether: (condition: string) => string
  readonly date: (seconds: string) => string
  readonly bytes: (text: string) => string
  /** For columns of kind `raw` and `json`. */
  readonly raw: (text: string) => string
  readonly json: (text: string) => string
}

export const dialects: Readonly<Record<'sqlite' | 'postgres', Dialect>> = {
  sqlite: {
    series: (first, end) => `(with recursive n(i) as (select ${first} union all select i + 1 from n where i < ${end - 1}) select i from n)`,
    uuid: (family, n) => `printf('%08x-0000-4000-8000-%012x', ${family}, ${n})`,
    time: (seconds) => `strftime('%Y-%m-%dT%H:%M:%S.000000Z', ${FIRST_AT} + ${seconds}, 'unixepoch')`,
    concat: (...parts) => parts.map((part) => `(${part})`).join(' || '),
    bool: (value) => (value ? '1' : '0'),
    whether: (condition) => `(${condition})`,
    date: (seconds) => `strftime('%Y-%m-%d', ${FIRST_AT} + ${seconds}, 'unixepoch')`,
    bytes: (text) => `cast(${text} as blob)`,
    raw: (text) => text,
    json: (text) => text,
  },
  postgres: {
    series: (first, end) => `generate_series(${first}::bigint, ${end - 1}) as n(i)`,
    uuid: (family, n) => `lpad(to_hex(${family}), 8, '0') || '-0000-4000-8000-' || lpad(to_hex(${n}), 12, '0')`,
    time: (seconds) => `to_timestamp(${FIRST_AT} + ${seconds})`,
    concat: (...parts) => parts.map((part) => `(${part})::text`).join(' || '),
    bool: (value) => String(value),
    whether: (condition) => `(${condition})`,
    date: (seconds) => `to_timestamp(${FIRST_AT} + ${seconds})::date`,
    bytes: (text) => `convert_to(${text}, 'UTF8')`,
    raw: (text) => `(${text})::json`,
    json: (text) => `(${text})::jsonb`,
  },
}
