import { idsUnder } from './ids-under.ts'
import { isObject } from './json.ts'
import { recordLists } from './unshown-names.ts'
import { parseUuid } from './uuid.ts'

/** What an id identifies. The service has no read by id for documents. */
const knownKinds = ['bind_request', 'policy', 'insured', 'document'] as const
export type KnownKind = (typeof knownKinds)[number]

/** An id that an answer or an operator named. The service has no list of these ids (trap 23). */
export interface KnownId {
  readonly kind: KnownKind
  /** A UUID in lower case. */
  readonly id: string
  /** The submission that the id belongs to; empty if unknown. */
  readonly submissionId: string
  /**
   * True if the object with the id also contains `submission_id`. Such a stated submission replaces a submission that
   * was only inferred from where the id was found.
   */
  readonly isStated?: boolean
}

const MAX_DEPTH = 64
const MAX_VALUES = 1_000_000

const KIND_OF_KEY: ReadonlyMap<string, KnownKind> = new Map(knownKinds.map((kind) => [`${kind}_id`, kind]))
/**
 * Matches JSON text that may contain an id. Other text needn't be parsed. JSON inside a string doesn't match, because
 * its quotes are escaped.
 */
const MENTIONS = new RegExp(`"(?:(?:${knownKinds.join('|')})_id|download_path|${[...recordLists.keys()].join('|')})"`)
const DOCUMENT_PATH = /\/finalized-documents\/([0-9a-f-]{36})\/pdf(?:$|\?)/i

/** True if the mirror learns an id from a field with this name and value, anywhere in an answer. */
export function isKnownIdField(name: string, value: unknown): boolean {
  return KIND_OF_KEY.has(name) && parseUuid(value) !== null
}

/**
 * Searches a JSON value of any shape for ids: UUIDs under keys such as `policy_id`, and documents in a `download_path`.
 * @param submissionId the submission of an id if no object around the id has a `submission_id`.
 */
export function knownIdsIn(value: unknown, submissionId: string): KnownId[] {
  const found = new Map<string, KnownId>()
  let remaining = MAX_VALUES
  const add = (kind: KnownKind, id: string, of: string, isStated: boolean) => {
    const key = `${kind} ${id}`
    const one = { kind, id, submissionId: of, ...(isStated && { isStated }) }
    if (isBetterKnown(one, found.get(key))) found.set(key, one)
  }
  const search = (item: unknown, depth: number, of: string): void => {
    remaining -= 1
    if (depth > MAX_DEPTH || remaining <= 0) return
    if (Array.isArray(item)) for (const each of item) search(each, depth + 1, of)
    else if (isObject(item)) {
      const stated = parseUuid(item['submission_id'])
      const own = stated ?? of
      for (const [key, each] of Object.entries(item)) {
        const kind = KIND_OF_KEY.get(key)
        const id = kind === undefined ? null : parseUuid(each)
        for (const record of recordsIn(key, each)) {
          const listed = KIND_OF_KEY.get(record.key)
          if (listed !== undefined) add(listed, record.id, record.submissionId ?? own, record.submissionId !== null)
        }
        if (kind !== undefined && id !== null) add(kind, id, own, stated !== null)
        const document = key === 'download_path' && typeof each === 'string' ? parseUuid(DOCUMENT_PATH.exec(each)?.[1]) : null
        if (document !== null) add('document', document, own, stated !== null)
        search(each, depth + 1, own)
      }
    }
  }
  search(value, 0, submissionId)
  return [...found.values()]
}

/**
 * Finds the records of a list such as `policies` that have their id in the field `id` instead of,
 * for example, `policy_id`.
 * @returns for each record: the usual name of its id field, the id, and the record's `submission_id` or null.
 */
function recordsIn(list: string, value: unknown) {
  const key = recordLists.get(list)
  if (key === undefined || !Array.isArray(value)) return []
  return value.filter(isObject).flatMap((item) => {
    const id = item[key] === undefined ? parseUuid(item['id']) : null
    return id === null ? [] : [{ key, id, submissionId: parseUuid(item['submission_id']) }]
  })
}

/**
 * @returns the ids of submissions in the answer of an insured: each `submission_id`, and each `id` in
 * its list `submissions`.
 */
export function submissionsOfInsured(answer: unknown): string[] {
  const named = idsUnder(answer, ['submission_id']).ids.get('submission_id') ?? []
  const listed = recordsIn('submissions', isObject(answer) ? answer['submissions'] : null).map(({ id }) => id)
  return [...new Set([...named, ...listed])]
}

/** True if `known`, the earlier entry for the same id, is undefined or less reliable than `one`. */
export function isBetterKnown(one: KnownId, known: KnownId | undefined): boolean {
  if (known === undefined || known.submissionId === '') return true
  return one.isStated === true && known.isStated !== true
}

/** `knownIdsIn` for JSON text. @returns an empty list if the text isn't JSON. */
export function knownIdsInText(text: string, submissionId: string): KnownId[] {
  if (!MENTIONS.test(text)) return []
  try {
    return knownIdsIn(JSON.parse(text), submissionId)
  } catch {
    return []
  }
}
