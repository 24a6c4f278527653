import { z } from 'zod'
import { isObject } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { View } from '../../model/view.ts'
import { count, keyOf, list, rawBeside, rawOf, required, said, text, textOrJson } from './fields.ts'
import { type Item, itemsIn, keyedRows } from './items.ts'

const outstanding = z.looseObject({ submission_id: required(parseUuid), answerable_count: count, markets_total: count })

const item = z.looseObject({ key: text, label: text, source: text, input: text, options: list, markets: list, how_to_provide: textOrJson })

/** Reads the outstanding requirements. @returns null when the answer has no `submission_id`. */
export function readOutstanding(raw: unknown): View | null {
  const read = outstanding.safeParse(raw).data
  if (!read || !isObject(raw)) return null
  const { answerable_count, markets_total } = said({ answerable_count: read.answerable_count, markets_total: read.markets_total }, raw)
  const { isThere, rows, whole, unreadable } = keyedRows(itemsIn(raw, 'items'), 'item_key', readItem)
  return {
    submission: {
      outstanding_raw: isThere ? rawBeside('items', raw) : rawOf(raw),
      ...(answerable_count !== undefined && { outstanding_answerable_count: answerable_count }),
      ...(markets_total !== undefined && { outstanding_markets_total: markets_total }),
    },
    lists: isThere ? [{ table: 'outstanding_items', of: {}, rows, whole }] : [],
    unreadable,
  }
}

function readItem(raw: unknown): Item | null {
  const read = item.safeParse(raw).data
  if (!read) return null
  const { key, label, source, input, options, markets, how_to_provide } = read
  return { key: keyOf(key), identity: [label], columns: { key, label, source, input, options, markets, how_to_provide } }
}
