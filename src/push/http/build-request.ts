import { PermanentError } from '../../base/errors.ts'
import type { RequestTemplate } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
import type { BuiltRequest } from '../contract/delivery.ts'
import type { AnswerBody } from './answer-body.ts'
import { encodeBody } from './encode.ts'
import { expressionsOf, headerName, type RequestName } from './expressions.ts'
import type { TemplateInput, Templates } from './templates.ts'

/**
 * Makes one of a destination's requests.
 * @param view what its expressions see.
 * @param body the answer that they see as `body`; null: none.
 * @throws PermanentError when a template fails, or yields something that cannot be sent; TransientError when it cannot be evaluated now.
 */
export async function buildRequest(
  templates: Templates,
  name: RequestName,
  template: RequestTemplate,
  view: TemplateInput,
  body: AnswerBody | null = null,
): Promise<BuiltRequest> {
  const names = expressionsOf(name, template).map((expression) => expression.name)
  const values = await templates.evaluate(names, view, body)
  const yielded = (expression: string): Json => values[names.indexOf(expression)] ?? null
  const url = yielded(`${name}.url`)
  if (typeof url !== 'string' || !URL.canParse(url)) throw new PermanentError(`${name}.url yields no URL`)
  const headers: Record<string, string> = {}
  for (const header of Object.keys(template.headers)) {
    const value = yielded(headerName(name, header))
    if (value === null) continue
    if (typeof value !== 'string' || !/^[\t\x20-\x7e]*$/.test(value))
      throw new PermanentError(`${name}.headers.${header} yields no plain text`)
    headers[header.toLowerCase()] = value
  }
  if (template.body === null) return { method: template.method, url, headers, body: null }
  const { text, contentType } = encodeBody(template.format, yielded(`${name}.body`))
  return { method: template.method, url, headers: { 'content-type': contentType, ...headers }, body: text }
}
