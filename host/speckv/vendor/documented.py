"""What AMD documents of the files that the kit renders: sections and keys, pragmas, Tcl commands, and their options.

Only what is documented is accepted by `speckv check`: some tools ignore, silently, a key that they do not know.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HLS_KEYS: dict[str, frozenset[str]] = {
    "": _words("part platform freqhz"),
    "hls": _words(
        """clock clock_uncertainty flow_target relative_roots
        syn.file syn.top syn.cflags syn.csimflags syn.file_cflags syn.file_csimflags syn.blackbox.file
        tb.file tb.cflags tb.file_cflags csim.O csim.argv csim.clean csim.ldflags csim.mflags csim.setup
        cosim.argv cosim.rtl cosim.tool cosim.trace_level cosim.setup cosim.random_stall cosim.user_stall
        syn.compile.pipeline_loops syn.compile.pipeline_style syn.compile.enable_auto_rewind
        syn.compile.pragma_strict_mode syn.compile.name_max_length syn.compile.unsafe_math_optimizations
        syn.dataflow.default_channel syn.dataflow.fifo_depth syn.dataflow.scalar_fifo_depth
        syn.dataflow.start_fifo_depth syn.dataflow.strict_mode syn.dataflow.disable_fifo_sizing_opt syn.debug.enable
        syn.interface.m_axi_addr64 syn.interface.m_axi_latency syn.interface.m_axi_conservative_mode
        syn.interface.m_axi_max_widen_bitwidth syn.interface.s_axilite_interrupt_mode syn.interface.register_io
        package.output.file package.output.format package.output.syn package.ip.vendor package.ip.library
        package.ip.name package.ip.version package.ip.display_name package.ip.description package.ip.taxonomy"""
    ),
}
"""UG1399, HLS Config File Commands: keys by section, '' before the first."""

LINK_KEYS: dict[str, frozenset[str]] = {
    "": _words("platform target save-temps temp_dir log_dir report_dir optimize kernel_frequency freqhz debug jobs"),
    "clock": _words("defaultFreqHz defaultId freqHz id default_tolerance tolerance"),
    "connectivity": _words("nk sp sc stream_connect slr connect"),
    "profile": _words("data stall exec trace_memory"),
    "vivado": _words("prop param synth.jobs impl.jobs impl.strategies"),
    "advanced": _words("param prop misc"),
}
"""UG1393 and UG1702, Vitis Compiler Configuration File, and the options of each section."""

XRT_KEYS: dict[str, frozenset[str]] = {
    "Runtime": _words("api_checks cpu_affinity exclusive_cu_context runtime_log verbosity"),
    "Debug": _words(
        """device_trace device_counters host_trace native_xrt_trace opencl_trace xrt_trace profile_api
        power_profile power_profile_interval_ms stall_trace trace_buffer_size trace_buffer_offload_interval_ms
        continuous_trace lop_trace app_debug vitis_ai_profile"""
    ),
    "Emulation": _words(
        "debug_mode aliveness_message_interval launch_waveform print_infos_in_console print_warnings_in_console "
        "print_errors_in_console user_pre_sim_script user_post_sim_script xtlm_aximm_log xtlm_axis_log timeout_scale"
    ),
}
"""UG1702, xrt.ini File, and XRT's own page of it."""

PRAGMAS: dict[str, frozenset[str]] = {
    "aggregate": _words("variable compact"),
    "alias": _words("ports distance"),
    "allocation": _words("function operation instances limit"),
    "array_partition": _words("variable type factor dim off complete block cyclic"),
    "array_reshape": _words("variable type factor dim object off complete block cyclic"),
    "array_stencil": _words("variable off"),
    "bind_op": _words("variable op impl latency"),
    "bind_storage": _words("variable type impl latency"),
    "cache": _words("port lines depth ways users"),
    "dataflow": _words("disable_start_propagation"),
    "dependence": _words("variable class type inter intra direction distance dependent"),
    "disaggregate": _words("variable"),
    "expression_balance": _words("off"),
    "function_instantiate": _words("variable"),
    "inline": _words("off recursive"),
    "interface": _words(
        """mode port bundle offset clock depth latency name register register_mode interrupt channel storage_impl
        storage_type num_read_outstanding num_write_outstanding max_read_burst_length max_write_burst_length
        max_widen_bitwidth direct_io"""
    ),
    "latency": _words("min max"),
    "loop_flatten": _words("off"),
    "loop_merge": _words("force"),
    "loop_tripcount": _words("min max avg"),
    "occurrence": _words("cycle off"),
    "performance": _words("target_ti target_tl assume_ti assume_tl unit"),
    "pipeline": _words("II off rewind style"),
    "protocol": _words("mode floating fixed"),
    "reset": _words("variable off"),
    "stable": _words("variable"),
    "stream": _words("variable depth type off"),
    "top": _words("name"),
    "unroll": _words("factor skip_exit_check off off=true"),
}
"""UG1399, HLS Pragmas: options of each, with or without a value."""

INTERFACE_MODES = _words(
    "axis m_axi s_axilite ap_none ap_stable ap_vld ap_ack ap_hs ap_ovld ap_memory bram ap_fifo ap_ctrl_none ap_ctrl_hs "
    "ap_ctrl_chain"
)
"""UG1399, pragma HLS interface."""

TCL_COMMANDS: dict[str, frozenset[str]] = {
    # Tcl itself; `file` and the like take their options behind a subcommand
    **dict.fromkeys(_words("set lassign lindex list llength if foreach proc error puts expr"), frozenset()),
    "glob": _words("-nocomplain"),
    "file": _words("-force"),
    # Vivado Design Suite Tcl Command Reference, UG835
    **dict.fromkeys(
        _words(
            """current_fileset current_project close_project get_runs open_run get_bd_cells get_bd_pins get_bd_intf_pins
            get_bd_addr_spaces get_bd_addr_segs connect_bd_net connect_bd_intf_net validate_bd_design save_bd_design
            create_bd_design wait_on_run get_property"""
        ),
        _words("-quiet -of_objects -filter"),
    ),
    "get_timing_paths": _words("-delay_type -max_paths -quiet -of_objects -filter"),
    "add_files": _words("-norecurse -fileset -scan_for_includes -quiet"),
    "create_project": _words("-part -force -in_memory -ip -quiet"),
    "set_property": _words("-dict -name -value -objects -quiet"),
    "update_compile_order": _words("-fileset -force_gui -quiet"),
    "get_board_parts": _words("-regexp -nocase -latest_file_version -latest_hw_version -of_objects -filter -quiet"),
    "update_ip_catalog": _words("-rebuild -add_ip -delete_ip -repo_path -quiet"),
    "create_bd_cell": _words("-type -vlnv -reference -quiet"),
    "apply_bd_automation": _words("-rule -config -opts -dict -quiet"),
    "assign_bd_address": _words("-target_address_space -offset -range -import_from_file -force -quiet"),
    "make_wrapper": _words("-files -top -import -force -fileset -testbench -inst_template -quiet"),
    "get_files": _words("-of_objects -filter -all -norecurse -quiet"),
    "launch_runs": _words("-jobs -to_step -next_step -dir -host -scripts_only -force -quiet"),
    "report_utilization": _words("-file -append -hierarchical -cells -quiet"),
    "report_timing_summary": _words("-file -append -max_paths -delay_type -warn_on_violation -quiet"),
    # Creating and Packaging Custom IP, UG1118
    "ipx::package_project": _words("-root_dir -vendor -library -taxonomy -import_files -set_current -module -quiet"),
    "ipx::associate_bus_interfaces": _words("-busif -clock -reset -clear -remove -quiet"),
    **dict.fromkeys(
        _words(
            """ipx::current_core ipx::get_bus_interfaces ipx::get_memory_maps ipx::add_memory_map ipx::add_address_block
            ipx::add_register ipx::add_register_parameter ipx::create_xgui_files ipx::update_checksums ipx::save_core"""
        ),
        _words("-of_objects -quiet"),
    ),
    # UG1393 and UG1702, package_xo Command
    "package_xo": _words(
        """-xo_path -kernel_name -kernel_xml -output_kernel_xml -design_xml -ip_directory -parent_ip_directory -force
        -kernel_files -kernel_xml_args -kernel_xml_pipes -kernel_xml_connections -ctrl_protocol -quiet -verbose"""
    ),
}
"""Commands of the scripts, and their options."""
