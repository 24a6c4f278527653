import type { Readable } from 'node:stream'
import { decodedBody, encodingsOf } from './encoding.ts'

/** The beginning of a document's answer. */
export interface DocumentAnswer {
  /** 2xx or 3xx. Redirects are not followed. */
  readonly status: number
  /** Target of a redirect, as sent. */
  readonly location: string | null
  /** Lower case, without parameters; empty if missing. */
  readonly contentType: string
  /** The announced length; null if missing or encoded. */
  readonly bytes: number | null
  /** Decoded. Read to its end, or throw to drop the rest. */
  readonly body: AsyncIterable<Uint8Array>
}

/** Receives a document. The caller gets its errors; a broken body is the request's error. */
export type TakeDocument<T> = (answer: DocumentAnswer) => Promise<T>

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Timeouts between bytes and for the whole document. */
export const DOCUMENT_TIMES = { silentMs: 30_000, overallMs: 600_000 } as const

export function documentAnswer(status: number, headers: Headers, body: Readable): DocumentAnswer {
  const first = (name: string) => [headers[name]].flat()[0] ?? ''
  const encodings = encodingsOf(headers['content-encoding'])
  const length = encodings.length > 0 ? '' : first('content-length')
  return {
    status,
    location: first('location') || null,
    contentType: (first('content-type').split(';', 1)[0] ?? '').trim().toLowerCase(),
    bytes: /^\d{1,15}$/.test(length) ? Number(length) : null,
    body: decodedBody(body, encodings),
  }
}

/** The outcome of `take`, distinct from a failed request. */
export type TakeResult<T> = { readonly value: T } | { readonly error: unknown }

/** Runs `take`. @throws the error that broke the body off. */
export async function runTake<T>(answer: DocumentAnswer, take: TakeDocument<T>): Promise<TakeResult<T>> {
  const broken: { error: unknown }[] = []
  const watched = async function* () {
    try {
      yield* answer.body
    } catch (error) {
      broken.push({ error })
      throw error
    }
  }
  try {
    return { value: await take({ ...answer, body: watched() }) }
  } catch (error) {
    const [first] = broken
    if (first !== undefined) throw first.error
    return { error }
  }
}
