const GROUP = 4;

/** An account's address in groups of four, to be compared by eye; what is copied has no gaps. */
export function Address({ of }: { of: string }) {
  const prefix = /^(did:abt:|0x)?/.exec(of)?.[0] ?? '';
  const groups = of.slice(prefix.length).match(new RegExp(`.{1,${GROUP}}`, 'gu')) ?? [];
  let at = prefix.length;
  return (
    <span className="extras-address">
      {prefix && <span>{prefix}</span>}
      {groups.map((group) => {
        at += group.length;
        return <span key={at}>{group}</span>;
      })}
    </span>
  );
}
