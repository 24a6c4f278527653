import { plainCsvText } from '../../base/csv-text.ts'
import { UsageError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AnswerPart } from '../../store/query/query.ts'
import { type Cell, table } from '../output/table.ts'
import { pluralize } from '../output/text.ts'

/** Writes the answer of a query, piece by piece as it comes. */
export interface QueryAnswer {
  add(part: AnswerPart): void
  /** Writes what can be written only when all has come. */
  end(): void
}

type Write = (text: string) => void
type Rows = readonly (readonly Json[])[]

/** An aligned table, written when all its rows are there. */
export function tableAnswer(write: Write, width: number): QueryAnswer {
  let headings: readonly string[] = []
  const rows: Cell[][] = []
  return {
    add(part) {
      if ('columns' in part) headings = part.columns
      else for (const row of part.rows) rows.push(row.map(cellOf))
    },
    end() {
      const title = pluralize(rows.length, 'row')
      write(rows.length === 0 ? `No row (${headings.join(', ')}).\n` : table({ title, headings, rows, width, everyColumn: true }))
    },
  }
}

/** CSV with values as the tables have them. */
export function csvAnswer(write: Write): QueryAnswer {
  let columns: readonly string[] = []
  return {
    add(part) {
      if ('columns' in part) columns = part.columns
      write('columns' in part ? plainCsvText([], columns, true) : plainCsvText(part.rows.map(flat), columns, false))
    },
    end() {},
  }
}

/** A list of objects, one a line. */
export function jsonAnswer(write: Write): QueryAnswer {
  let columns: readonly string[] = []
  let isFirst = true
  const textOf = (rows: Rows) => {
    const lines = rows.map((row) => `  ${JSON.stringify(Object.fromEntries(columns.map((column, index) => [column, row[index]])))}`)
    const before = isFirst ? '\n' : ',\n'
    isFirst = false
    return `${before}${lines.join(',\n')}`
  }
  return {
    add(part) {
      if ('rows' in part) {
        if (part.rows.length > 0) write(textOf(part.rows))
        return
      }
      columns = part.columns
      const twice = columns.find((column, index) => columns.indexOf(column) < index)
      if (twice !== undefined) throw new UsageError([`two columns are called ${twice}; give one another name by \`as\``])
      write('[')
    },
    end() {
      write(isFirst ? ']\n' : '\n]\n')
    },
  }
}

function cellOf(value: Json): Cell {
  const flatValue = flat([value])[0]
  return typeof flatValue === 'boolean' ? String(flatValue) : (flatValue ?? null)
}

/** Lists and objects as JSON text: a cell holds one value. */
function flat(row: readonly Json[]): (string | number | boolean | null)[] {
  return row.map((value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value))
}
