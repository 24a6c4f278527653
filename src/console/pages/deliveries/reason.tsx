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
