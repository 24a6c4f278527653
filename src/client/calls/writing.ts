import { isObject } from '../../model/json.ts'
import { inShort, type Reads } from '../http/reading.ts'

/** A file to upload. */
export type FileContent = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>

export interface FileToSend {
  readonly content: FileContent
  /** Name of the file. Default: `document.pdf`. */
  readonly name?: string
  /** Default: that of a Blob, else `application/pdf`. */
  readonly contentType?: string
}

/** To whom a write is attributed: another portal user than the client's `producerEmail`. */
export interface Attribution {
  readonly producerEmail?: string
}

/** @returns the body with the client's `producer_email`, unless it says another. */
export function attributed<T>(body: T, producerEmail: string | undefined): T {
  if (producerEmail === undefined || !isObject(body) || body['producer_email'] !== undefined) return body
  return { ...body, producer_email: producerEmail }
}

/**
 * @returns the body of a write: `attributed`, and as the specification asks for it.
 * @throws RangeError for one that the service would refuse.
 */
export function bodyOf<T>(schema: Reads<unknown>, body: T, producerEmail: string | undefined): T {
  const sent = attributed(body, producerEmail)
  const read = schema.safeParse(sent)
  if (!read.success) throw new RangeError(`the body is not as the specification asks: ${inShort(read.error)}`)
  return sent
}

/** Reads a file once, so that it can be sent again. A file that is given as it is, is its content. */
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

/** @returns a maker of the form: it is made anew for each attempt. Fields without a value are left out. */
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
