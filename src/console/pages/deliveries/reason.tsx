/** Texts for the reasons why a delivery was rejected. */
const words: Readonly<Record<string, string>> = {
  missing_headers: 'missing signature headers',
  bad_timestamp: 'malformed timestamp',
  stale_timestamp: 'timestamp too old or in the future',
  unknown_scheme: 'unknown signature scheme',
  wrong_signature: 'signature matches no webhook secret',
  unknown_account: 'unknown account in the path',
  body_too_large: 'body too large',
}

const fixes: Readonly<Record<string, string>> = {
  bad_timestamp: "The delivery doesn't follow Standard Webhooks. Contact the sender.",
  stale_timestamp: 'Sync the clock of this host (NTP), then verify again. The timestamp is compared with the time of receipt.',
  unknown_scheme: 'Only signature scheme v1 is supported. Contact the sender.',
  wrong_signature: 'Add the signing secret from the portal to WEBHOOK_SECRETS, reload the settings, then verify again.',
  unknown_account: 'Correct the webhook URL in the portal. It must end with the name of a configured account.',
  body_too_large: 'No action required. Polling finds the changes.',
}

export function reasonFix(reason: string): string {
  return fixes[reason] ?? 'The delivery is unsigned or not from the service. No action required.'
}

export function Reason({ reason }: { readonly reason: string }) {
  const text = words[reason]
  if (text === undefined) return <>{reason}</>
  return (
    <>
      {text} <span className="quiet mono">{reason}</span>
    </>
  )
}
