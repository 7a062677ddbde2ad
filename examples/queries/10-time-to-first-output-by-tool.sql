-- The time to the first output, request by request: which tools measure the first
-- of any channel, which the first visible one, and n for each. One row per protocol,
-- never pooled: the names the tools use for the two stand the other way round.
SELECT a.tool, a.protocol, a.first_output_boundary, count(*) AS completed,
    count(r.t_first_any_ms) AS n_first_any, quantile_disc(r.t_first_any_ms, 0.5) AS first_any_p50_ms,
    count(r.t_first_visible_ms) AS n_first_visible, quantile_disc(r.t_first_visible_ms, 0.5) AS first_visible_p50_ms
FROM artifact_requests r
JOIN artifacts a USING (artifact)
WHERE r.status = 'completed' AND r.phase <> 'warmup'
GROUP BY ALL
ORDER BY a.tool, a.protocol, a.first_output_boundary;
