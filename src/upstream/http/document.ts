import type { Readable } from 'node:stream'
import { decodedBody, encodingsOf } from './encoding.ts'

/** The answer to a request for a document, as it begins. */
export interface DocumentAnswer {
  /** 2xx, or 3xx: nothing follows a redirect by itself. */
  readonly status: number
  /** Where a redirect leads, as given. */
  readonly location: string | null
  /** In lower case, without parameters; empty when the answer does not say. */
  readonly contentType: string
  /** The length that the answer promises; null also when it comes encoded: then that is the length of something else. */
  readonly bytes: number | null
  /** Decoded. Read it to its end, or throw: the rest is then dropped. */
  readonly body: AsyncIterable<Uint8Array>
}

/** What is done with a document while it arrives. Its error is the caller's; a body that breaks off is the request's. */
export type TakeDocument<T> = (answer: DocumentAnswer) => Promise<T>

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Time without a byte after which a document's answer counts as broken off, and for the whole of it. */
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

/** The outcome of `take`, which must not look like a failed request. */
export type Taken<T> = { readonly value: T } | { readonly error: unknown }

/** Runs `take`. @throws what broke the body off. */
export async function takenFrom<T>(answer: DocumentAnswer, take: TakeDocument<T>): Promise<Taken<T>> {
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
