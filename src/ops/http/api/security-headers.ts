const POLICY = [
  "default-src 'none'",
  ...['script', 'style', 'img', 'font', 'connect'].map((kind) => `${kind}-src 'self'`),
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
]

/** Headers of every answer. They forbid foreign content, inline scripts and frames. */
export const securityHeaders = {
  'content-security-policy': POLICY.join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const
