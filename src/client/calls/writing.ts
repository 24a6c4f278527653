import { isObject } from '../../model/json.ts'
import { inShort, type Reads } from '../http/reading.ts'

export type FileContent = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>

export interface FileToSend {
  readonly content: FileContent
  /** Default: `document.pdf`. */
  readonly name?: string
  /** Default: the type of a Blob, or `application/pdf`. */
  readonly contentType?: string
}

/** `producerEmail`: portal user for this write. Default: the client's. */
export interface Attribution {
  readonly producerEmail?: string
}

/** @returns the body with the client's `producer_email`, unless it sets one. */
export function attributed<T>(body: T, producerEmail: string | undefined): T {
  if (producerEmail === undefined || !isObject(body) || body['producer_email'] !== undefined) return body
  return { ...body, producer_email: producerEmail }
}

/** @returns the `attributed` body. @throws RangeError for a body that the specification doesn't allow. */
export function bodyOf<T>(schema: Reads<unknown>, body: T, producerEmail: string | undefined): T {
  const sent = attributed(body, producerEmail)
  const read = schema.safeParse(sent)
  if (!read.success) throw new RangeError(`The specification doesn't allow this body: ${inShort(read.error)}`)
  return sent
}

/** Buffers a file, so that retries can send it. */
export async function fileOf(file: FileToSend | FileContent): Promise<{ readonly blob: Blob; readonly name: string }> {
  const given = isToSend(file) ? file : { content: file }
  const { content } = given
  const type = given.contentType ?? (content instanceof Blob && content.type !== '' ? content.type : 'application/pdf')
  const bytes = content instanceof ReadableStream ? await new Response(content).arrayBuffer() : content
  return { blob: new Blob([bytes], { type }), name: given.name ?? (content instanceof File ? content.name : 'document.pdf') }
}

export function isFile(value: string | FileToSend | FileContent): value is FileToSend | FileContent {
  return typeof value !== 'string'
}

function isToSend(file: FileToSend | FileContent): file is FileToSend {
  return 'content' in file
}

/** @returns a function that builds the form for each attempt, without undefined fields. */
export function formOf(
  fields: Readonly<Record<string, string | undefined>>,
  files: readonly { readonly field: string; readonly blob: Blob; readonly name: string }[],
): () => FormData {
  return () => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value)
    for (const { field, blob, name } of files) form.append(field, blob, name)
    return form
  }
}
