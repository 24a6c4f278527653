type Status = 204 | 401 | 404 | 413 | 429 | 503

export interface Answer {
  readonly status: Status
  readonly body: string
  /** Value of the header `Retry-After`, in seconds; null for no header. */
  readonly retryAfter: string | null
  /** The status as a metric label. */
  readonly label: string
}

function answer(status: Status, body: string, retryAfter: string | null = null): Answer {
  return { status, body, retryAfter, label: String(status) }
}

export const answers = {
  stored: answer(204, ''),
  unsigned: answer(
    401,
    'no complete signature was sent: send svix-id, svix-timestamp, and svix-signature (or webhook-id, webhook-timestamp, and webhook-signature)\n',
  ),
  wronglySigned: answer(401, 'signature rejected\n'),
  unknown: answer(404, 'not found\n'),
  tooLarge: answer(413, 'body too large\n'),
  tooManyBad: answer(429, 'too many rejected signatures from this address: wait a minute\n', '60'),
  unavailable: answer(503, 'the delivery could not be stored: send it again\n', '5'),
} as const
