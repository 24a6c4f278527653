import { isObject } from '../../model/json.ts'
import { inShort, type Reads } from '../http/reading.ts'

export type FileContent = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>

export interface FileToSend {
  readonly content: FileContent
  /** File name. Default: the name of a File, or `document.pdf`. */
  readonly name?: string
  /** Media type. Default: the type of a Blob, or `application/pdf`. */
  readonly contentType?: string
}

/** `producerEmail` is the portal user to whom this write is attributed. Default: the client's `producerEmail`. */
export interface Attribution {
  readonly producerEmail?: string
}

/** @returns the body with the given `producer_email`. If the body already has this field, its value stays. */
export function attributed<T>(body: T, producerEmail: string | undefined): T {
  if (producerEmail === undefined || !isObject(body) || body['producer_email'] !== undefined) return body
  return { ...body, producer_email: producerEmail }
}

/**
 * @returns the body with `producer_email` (see `attributed`).
 * @throws RangeError if the specification doesn't allow the body.
 */
export function bodyOf<T>(schema: Reads<unknown>, body: T, producerEmail: string | undefined): T {
  const sent = attributed(body, producerEmail)
  const read = schema.safeParse(sent)
  if (!read.success) throw new RangeError(`The specification doesn't allow this body: ${inShort(read.error)}`)
  return sent
}

/** Reads a file into memory, so that retries can send it again. */
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

/** @returns a function that builds a new form for each attempt. Undefined fields are left out. */
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
