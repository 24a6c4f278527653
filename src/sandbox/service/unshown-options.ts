import { eventsPayloads, RETRY_SCHEDULE_MS, type SandboxOptions } from './options.ts'
import type { Choice } from './unshown.ts'

/** `authorize-as` takes them too, and is answered by the redirect with the code. */
const AUTHORIZATION_PARAMETERS = 'response_type=code, client_id, redirect_uri, state, scope'

/** @returns the choices that options of their own vary, with their present values. */
export function optionChoices(options: SandboxOptions): Choice[] {
  const choice = (row: string, option: string, value: Choice['choice'], alternatives: Choice['alternatives']): Choice => {
    const name = option
      .replace(/^(--|.*\/)/, '')
      .replace(/\?.*$/, '')
      .replaceAll('-', '_')
    return { name, row, choice: value, option, alternatives: alternatives.filter((other) => other !== value) }
  }
  return [
    choice('Webhooks 2: payload of a submission.events delivery', '--events-payload', options.eventsPayload ?? 'events', eventsPayloads),
    choice('Webhooks 4: signature header names other than svix-id', '--signature-headers', options.signatureHeaders ?? 'svix', [
      'svix',
      'webhook',
    ]),
    choice('Webhooks 4: retry schedule (ms)', '--retry-schedule', options.retryScheduleMs ?? RETRY_SCHEDULE_MS, ['any waits']),
    choice(
      'Authentication 5: authorization request parameters beyond PKCE',
      'GET /_sandbox/authorize-as?email=…',
      AUTHORIZATION_PARAMETERS,
      ['without them: the latest request at /oauth/authorize'],
    ),
    choice('Submissions list and insureds list: path and shape', '--lists', options.lists ?? false, [true, false]),
    choice('Errors: how often, and when, a valid cursor is refused', '--faults', 'never', ['[{"kind":"invalid_cursor"}]']),
  ]
}
