import { PermanentError } from '../../base/errors.ts'
import type { HttpDestination, RequestTemplate } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
import { MASK } from '../../model/masking.ts'
import type { BuiltRequest, PushItem } from '../contract/delivery.ts'
import type { OpenedDocument } from '../contract/documents.ts'
import type { AnswerBody } from './answer-body.ts'
import type { DocumentMarks } from './document-body.ts'
import { encodeBody } from './encode.ts'
import { expressionsOf, headerName, type RequestName } from './expressions.ts'
import type { TemplateInput, Templates } from './templates.ts'

/**
 * Builds one of a destination's requests from its templates.
 * @param view the `$` of the expressions.
 * @param body the answer that expressions see as `body`; null if there is none.
 * @throws PermanentError if a template fails or yields an unusable value.
 * @throws TransientError if the templates can't be evaluated now.
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
  if (typeof url !== 'string' || !URL.canParse(url)) throw new PermanentError(`${name}.url did not return a URL`)
  const headers: Record<string, string> = {}
  for (const header of Object.keys(template.headers)) {
    const value = yielded(headerName(name, header))
    if (value === null) continue
    if (typeof value !== 'string' || !/^[\t\x20-\x7e]*$/.test(value))
      throw new PermanentError(`${name}.headers.${header} did not return plain text`)
    headers[header.toLowerCase()] = value
  }
  if (template.body === null) return { method: template.method, url, headers, body: null }
  const { text, contentType } = encodeBody(template.format, yielded(`${name}.body`))
  return { method: template.method, url, headers: { 'content-type': contentType, ...headers }, body: text }
}

/** @returns the `$` of a batch's templates: the changes in order, and the settings. */
export function batchView(items: readonly PushItem[], settings: HttpDestination['settings']): TemplateInput {
  return { items: items.map((item) => viewOf(item, settings, null)), settings }
}

/**
 * @returns the `$` of templates: the change, named as in a webhook body, and its context. Contains no secrets.
 * `config/templates.md` lists the fields.
 * @param document view of the attached document; null if there is none.
 */
export function viewOf(item: PushItem, settings: HttpDestination['settings'], document: Json): TemplateInput {
  return {
    message_id: item.messageId,
    destination: item.destination,
    account: item.account,
    submission_id: item.submissionId,
    entity: item.entity,
    entity_id: item.entityId,
    operation: item.operation,
    cause: item.cause,
    seq: item.seq,
    snapshot: item.snapshot,
    left_filter: item.leftFilter,
    changed_at: item.changedAt,
    before: item.before,
    after: item.after,
    direction: item.direction,
    echo: item.echo,
    submission: item.submission,
    mapping: item.mapping === null ? null : { client: item.mapping.client, policy: item.mapping.policy, fields: item.mapping.fields },
    remote_id: item.remoteId,
    attempts: item.attempts,
    document,
    settings,
  }
}

interface Marked {
  readonly document: OpenedDocument
  readonly marks: DocumentMarks
}

/**
 * @returns the request as a preview shows it. Credentials are masked, and a phrase replaces the document's bytes.
 * @param trusted the only origin that gets credentials. If missing, every origin gets credentials.
 */
export function shownRequest(built: BuiltRequest, auth: HttpDestination['auth'], marked: Marked | null, trusted?: string): BuiltRequest {
  const hasAuth = trusted === undefined || new URL(built.url).origin === trusted
  const body = marked === null || built.body === null ? built.body : withoutBytes(built.body, marked)
  return { ...built, headers: { ...built.headers, ...(hasAuth && maskedHeaders(auth)) }, body }
}

function withoutBytes(body: string, { document: { bytes }, marks: { file, base64 } }: Marked): string {
  return body.replaceAll(file, `[document: ${bytes} bytes]`).replaceAll(base64, `[document: ${bytes} bytes in base64]`)
}

function maskedHeaders(auth: HttpDestination['auth']): Readonly<Record<string, string>> {
  if (auth === null) return {}
  if (auth.type === 'header') return { [auth.name.toLowerCase()]: MASK }
  if (auth.type === 'login') return { [auth.header.toLowerCase()]: `${auth.scheme} ${MASK}`.trim() }
  return { authorization: `${auth.type === 'basic' ? 'Basic' : 'Bearer'} ${MASK}` }
}
