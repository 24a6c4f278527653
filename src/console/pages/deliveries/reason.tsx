/** Why a delivery was refused, as people say it. */
const words: Readonly<Record<string, string>> = {
  missing_headers: 'signature headers are missing',
  bad_timestamp: 'its time is none',
  stale_timestamp: 'it was signed too long ago, or ahead of time',
  unknown_scheme: 'signed in a way that is not known here',
  wrong_signature: 'no secret of the account made its signature',
  unknown_account: 'its path names no account',
  body_too_large: 'its body is too large',
}

/** What a person does about each. */
const mends: Readonly<Record<string, string>> = {
  bad_timestamp: 'The sender did not sign it as Standard Webhooks. Ask whoever sent it.',
  stale_timestamp: 'Set the clock of this machine by NTP, then verify again: the time is judged by when it was received.',
  unknown_scheme: 'Only signatures of the scheme v1 are known. Ask whoever sent it.',
  wrong_signature:
    'Copy the signing secret from the portal into WEBHOOK_SECRETS beside the old one, reload the settings, then verify again.',
  unknown_account: 'Correct the address of the endpoint in the portal: it ends with the name of an account of the settings.',
  body_too_large: 'Only its beginning is kept. Polling finds what it told.',
}

/** How a refused delivery of this reason is mended, in a sentence. */
export function reasonMend(reason: string): string {
  return mends[reason] ?? 'Whoever sent it is not the service, or did not sign it. Nothing has to be done.'
}

/** A reason in words, and beside it as scripts know it. */
export function Reason({ reason }: { readonly reason: string }) {
  const said = words[reason]
  if (said === undefined) return <>{reason}</>
  return (
    <>
      {said} <span className="quiet mono">{reason}</span>
    </>
  )
}
