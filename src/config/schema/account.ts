import { z } from 'zod'
import { isReservedPath } from '../../base/service-http.ts'
import { isNonEmpty, items, secret, section, time, value, words } from './builders.ts'
import { checkNames } from './cross-checks.ts'
import { keyName } from './destination.ts'
import { isPlainPath, probePath } from './probe-path.ts'
import { baseUrl, clientId, clientSecret, flag, invalid, matching, ok, type Parsed, webhookSecret } from './values.ts'

export const accountSchema = section({
  name: value(keyName, 'is missing; give the account a name, which cannot change later').meta({
    env: 'ACCOUNT',
    shown: '`default`',
    description:
      '1 to 63 of a-z, 0-9, _ and -, first a letter or digit; part of every key, so it cannot change. Required in the settings file',
  }),
  default: value(flag).prefault(false).meta({
    description: "whether `POST /webhooks` belongs to this account; at most one account. Always true for the environment's account",
  }),
  base_url: value(baseUrl, "is missing; set it to the service's base URL, version segment included").meta({
    env: 'BROKER_API_BASE_URL',
    description: 'base URL of the service with its version segment, such as `https://…/api/v1`; http only on this machine',
  }),
  client_credentials: items(
    section({
      id: value(clientId, 'is missing; set it to the client id from the portal').meta({
        env: 'BROKER_API_CLIENT_ID',
        description: 'client id of the credential (`bac_…`)',
      }),
      secret: secret(clientSecret, 'is missing; set it to the client secret from the portal').meta({
        env: 'BROKER_API_CLIENT_SECRET',
        file: true,
        description: 'client secret of the credential (`bas_…`)',
      }),
    }),
    10,
  ).refine(isNonEmpty, 'must hold at least one pair of id and secret'),
  scope: value(matching(/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/, 'must be one or more scopes, separated by single spaces'))
    .prefault('broker_mcp')
    .meta({ env: 'BROKER_API_SCOPE', description: 'scope of tokens; reading needs no more' }),
  webhook_secrets: items(secret(webhookSecret, 'is missing; set it to the signing secret from the portal'), 10, words)
    .refine(isNonEmpty, 'must hold the signing secret of the webhook endpoint')
    .meta({
      env: 'WEBHOOK_SECRETS',
      file: true,
      description:
        'signing secrets of the webhook endpoint, separated by spaces or commas, or a list; `whsec_` and base64, or base64 alone, of 24 to 64 bytes',
    }),
  extra_reads: items(
    section({
      name: value(keyName, 'is missing; give the read a name, which stays its key'),
      path: value(extraPath, 'is missing; set it to a path below the base URL'),
      every: time('1m', '30d').prefault('1d'),
    }),
    20,
  )
    .check(checkNames('extra_reads'))
    .prefault([])
    .meta({ description: 'paths whose answers are kept: [below](extra-reads.md#keep-answers-that-have-no-table)' }),
  discovery: section({
    paths: items(value(probePath), 20)
      .refine(isNonEmpty, 'must hold at least one path; or leave discovery out')
      .transform((paths) => [...new Set(paths)]),
    id_fields: z
      .record(
        z.string(),
        value(matching(/^[\w-]{1,100}$/, 'must be the name of a field, such as `id`')),
        'must hold paths, and for each the name of the field that holds the id of a submission',
      )
      .prefault({}),
    every: time('1m', '30d').prefault('1h'),
  })
    .refine(({ paths, id_fields }) => Object.keys(id_fields).every((path) => paths.includes(path)), {
      path: ['id_fields'],
      message: 'must name only entries of `paths`',
    })
    .optional()
    .meta({ description: 'paths that list submissions: [below](extra-reads.md#find-submissions-automatically)' }),
})

/**
 * Parses the path of an extra read: a path below the base URL, optionally with a query and `{submission_id}`.
 * Rejects paths that exchange secrets or count against a daily limit (traps 44, 55, 76).
 */
function extraPath(text: string): Parsed<string> {
  const example = '/broker/submissions/{submission_id}'
  if (!isPlainPath(text)) return invalid(`must be a path below the base URL, such as ${example}; a query is optional`)
  if (isReservedPath(text))
    return invalid('must not be a path of /oauth or /broker/appetite, whose requests exchange secrets or count against a daily limit')
  const others = [...text.matchAll(/\{(\w+)\}/g)].filter(([, key]) => key !== 'submission_id')
  return others.length === 0 ? ok(text) : invalid('must not contain a {key} other than {submission_id}')
}
