import type { FastifyRequest } from 'fastify'
import type { ConditionName } from '../../client/openapi/conditions.ts'
import { invalid } from '../service/refusal.ts'
import type { UploadedFile } from '../service/uploads.ts'

/**
 * @returns the body as parsed JSON.
 * @throws Refusal if the body isn't JSON.
 */
export function jsonOf({ body }: FastifyRequest): unknown {
  try {
    return JSON.parse(Buffer.isBuffer(body) ? body.toString() : '')
  } catch {
    throw invalid(['body'], 'The body is not JSON', 'json_invalid')
  }
}

/**
 * @returns the body as parsed JSON; an empty object if there is no body.
 * @throws Refusal if the body isn't JSON.
 */
export function optionalJsonOf(request: FastifyRequest): unknown {
  const { body } = request
  return Buffer.isBuffer(body) && body.length > 0 ? jsonOf(request) : {}
}

interface Form {
  readonly fields: Readonly<Record<string, string>>
  readonly files: readonly UploadedFile[]
}

/**
 * @returns the fields and files of a form.
 * @throws Refusal if the body isn't a form.
 */
export async function formOf({ body, headers }: FastifyRequest, condition?: ConditionName): Promise<Form> {
  if (body instanceof URLSearchParams) return { fields: Object.fromEntries(body), files: [] }
  const form = await new Response(Buffer.isBuffer(body) ? body : null, { headers: { 'content-type': headers['content-type'] ?? '' } })
    .formData()
    .catch(() => {
      throw invalid(['body'], 'The body is not multipart/form-data', 'form_invalid', condition)
    })
  const fields: Record<string, string> = {}
  const files: UploadedFile[] = []
  for (const [name, value] of form) {
    if (typeof value === 'string') fields[name] = value
    else
      files.push({
        field: name,
        name: value.name,
        contentType: value.type || 'application/octet-stream',
        bytes: Buffer.from(await value.arrayBuffer()),
      })
  }
  return { fields, files }
}
