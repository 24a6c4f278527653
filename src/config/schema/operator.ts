import { z } from 'zod'
import { checkPair, isNonEmpty, items, secret, section, targetUrl, time, value, words } from './builders.ts'
import { keyName } from './destination.ts'
import { checkTransport, hostName } from './destination-values.ts'
import { anySecret, flag, matching, number, oneOf, webhookSecret } from './values.ts'

const missingSecret = 'is missing; set it, as a reference'

/** An e-mail address without a display name. */
const address = value(matching(/^[^\s@<>(),;:"\\]{1,64}@[A-Za-z0-9.-]{1,253}$/, 'must be an address such as ops@agency.example'))

const common = {
  name: value(keyName, 'is missing; give the recipient a name').meta({
    description: '1 to 63 of a-z, 0-9, _ and -, first a letter or digit',
  }),
  repeat: time('5m', '30d').prefault('4h').meta({ description: 'when to repeat a lasting alarm; 5m to 30d' }),
  resolved: value(flag).prefault(true).meta({ description: 'whether to report the end of an alarm, five minutes after it' }),
}

const webhook = section({
  kind: z.literal('webhook').meta({ description: '`webhook` or `email`' }),
  ...common,
  url: targetUrl('is missing; set it to where alarms are sent').meta({ description: 'https; http only with `allow_private`' }),
  secret: secret(webhookSecret, missingSecret).meta({ description: '`whsec_` and base64 of 24 to 64 bytes' }),
  allow_private: value(flag).prefault(false).meta({
    description: "whether a loopback, private or link-local address is allowed (never a cloud's metadata service)",
  }),
}).check(checkTransport)

const email = section({
  kind: z.literal('email').meta({ description: '`webhook` or `email`' }),
  ...common,
  host: value(hostName, 'is missing; set it to the mail server').meta({ description: 'the mail server' }),
  port: value(number(1, 65_535)).optional().meta({ shown: '587; 465 with `tls: implicit`, 25 with `off`', description: 'its port' }),
  tls: value(oneOf(['starttls', 'implicit', 'off']))
    .prefault('starttls')
    .meta({
      description: '`starttls`: requires STARTTLS. `implicit`: TLS from the first byte. `off`: only for a server on this machine',
    }),
  username: value(matching(/^[^\p{Cc}]{1,320}$/u, 'must be one line of text'))
    .optional()
    .meta({ description: 'login name; set together with `password`' }),
  password: secret(anySecret, missingSecret).optional().meta({ description: 'its password' }),
  from: address.meta({ description: "the sender's address" }),
  to: items(address, 20, words).refine(isNonEmpty, 'must hold at least one address').meta({ description: 'up to 20 addresses' }),
})
  .check(checkPair('username', 'password', 'is missing; set both username and password'))
  .refine(({ tls, host }) => tls !== 'off' || /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host), {
    path: ['tls'],
    message: 'must be starttls or implicit; off is only for a mail server on this machine',
  })

export const operatorSchema = z.discriminatedUnion('kind', [webhook, email], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be one of webhook, email' : 'must hold keys and values'),
})
