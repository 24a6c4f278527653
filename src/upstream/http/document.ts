import type { Readable } from 'node:stream'
import { decodedBody, encodingsOf } from './encoding.ts'

/** Status, headers, and body of a document's answer. The body hasn't been read yet. */
export interface DocumentAnswer {
  /** 2xx or 3xx. Redirects are not followed. */
  readonly status: number
  /** The `Location` header of a redirect, unchanged. */
  readonly location: string | null
  /** Media type in lower case, without parameters. Empty if missing. */
  readonly contentType: string
  /** `Content-Length`. Null if missing, or if the body is compressed. */
  readonly bytes: number | null
  /** The decompressed bytes. Read all of them, or throw to discard the rest. */
  readonly body: AsyncIterable<Uint8Array>
}

/**
 * Receives a document. An error of this function is thrown to the caller unchanged. A broken body fails the request.
 */
export type TakeDocument<T> = (answer: DocumentAnswer) => Promise<T>

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Limits for the wait between two bytes, and for the whole document. */
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

/** The outcome of `take`. An error of `take` is returned here, because it isn't a failure of the request. */
export type TakeResult<T> = { readonly value: T } | { readonly error: unknown }

/**
 * Runs `take`.
 * @throws the error that interrupted the body.
 */
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
