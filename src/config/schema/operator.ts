import { z } from 'zod'
import { isNonEmpty, items, secret, section, targetUrl, time, value, words } from './builders.ts'
import { alwaysRun } from './cross-checks.ts'
import { keyName } from './destination.ts'
import { checkTransport } from './destination-checks.ts'
import { hostName } from './destination-values.ts'
import { field } from './reading.ts'
import { anySecret, flag, matching, number, oneOf, webhookSecret } from './values.ts'

const missingSecret = 'is missing; set it, as a reference'

/** A mail address without a display name. */
const address = value(matching(/^[^\s@<>(),;:"\\]{1,64}@[A-Za-z0-9.-]{1,253}$/, 'must be an address such as ops@agency.example'))

const common = {
  name: value(keyName, 'is missing; give the operator a name').meta({
    description: '1 to 63 of a-z, 0-9, _ and -, first a letter or digit',
  }),
  repeat: time('5m', '30d').prefault('4h').meta({ description: 'when a lasting alarm is told again; 5m to 30d' }),
  resolved: value(flag).prefault(true).meta({ description: 'whether its end is reported, once it has lasted five minutes' }),
}

const webhook = section({
  kind: z.literal('webhook').meta({ description: '`webhook` or `email`' }),
  ...common,
  url: targetUrl('is missing; set it to where alarms are sent').meta({ description: 'https; http only with `allow_private`' }),
  secret: secret(webhookSecret, missingSecret).meta({ description: '`whsec_` and base64 of 24 to 64 bytes' }),
  allow_private: value(flag).prefault(false).meta({
    description: "whether it may lie on a loopback, private or link-local address (never on a cloud's metadata service)",
  }),
}).check(checkTransport)

/** User name and password come together, and are never sent without TLS except to this machine. */
const checkLogin = z.superRefine((values: unknown, context) => {
  const [username, password, host] = ['username', 'password', 'host'].map((key) => field(values, key))
  if (username !== undefined && password === undefined) context.addIssue({ code: 'custom', path: ['password'], message: missingSecret })
  if (password !== undefined && username === undefined)
    context.addIssue({ code: 'custom', path: ['username'], message: 'is missing; set it, or leave the password out' })
  if (field(values, 'tls') !== 'off' || typeof host !== 'string') return
  if (!/^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host))
    context.addIssue({
      code: 'custom',
      path: ['tls'],
      message: 'must be starttls or implicit; off is only for a mail server on this machine',
    })
}, alwaysRun)

const email = section({
  kind: z.literal('email').meta({ description: '`webhook` or `email`' }),
  ...common,
  host: value(hostName, 'is missing; set it to the mail server').meta({ description: 'the mail server' }),
  port: value(number(1, 65_535)).optional().meta({ shown: '587; 465 with `tls: implicit`, 25 with `off`', description: 'its port' }),
  tls: value(oneOf(['starttls', 'implicit', 'off']))
    .prefault('starttls')
    .meta({
      description: '`starttls`: nothing is sent before TLS. `implicit`: TLS from the first byte. `off`: only for a server on this machine',
    }),
  username: value(matching(/^[^\p{Cc}]{1,320}$/u, 'must be one line of text'))
    .optional()
    .meta({ description: 'name to log in with, together with `password`; or neither' }),
  password: secret(anySecret, missingSecret).optional().meta({ description: 'its password' }),
  from: address.meta({ description: "the sender's address" }),
  to: items(address, 20, words).refine(isNonEmpty, 'must hold at least one address').meta({ description: 'up to 20 addresses' }),
}).check(checkLogin)

/** One operator in the settings file. */
export const operatorSchema = z.discriminatedUnion('kind', [webhook, email], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be one of webhook, email' : 'must hold keys and values'),
})
